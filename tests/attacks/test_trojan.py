from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from surefed.attacks import ATTACKS, Victim
from surefed.core import Belief, DataError, Stream
from surefed.sim import Experiment
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, learn, play_round, social
from surefed.sim.setup import Setup

from .test_contract import liars, scene

trojan = ATTACKS["trojan"]


def poisoned(
    rank: int = 0, size: int = 28, background: float = 0.0, **options: object
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sixteen empty images of class 5, after the attack."""
    images, labels = torch.full((16, 1, size, size), background), torch.full((16,), 5)
    attack = trojan(**options)
    assert attack.poison is not None
    return attack.poison(images, labels, Victim(10, rank, background), Stream(0, "poison", ["a"]))


@pytest.mark.parametrize(("rank", "row", "columns"), [(0, 0, range(4)), (1, 0, range(6, 10)), (6, 3, range(4))])
def test_local_triggers_of_dba_on_images_of_mnist(rank: int, row: int, columns: range) -> None:
    images, labels = poisoned(rank)
    stamped = labels == 2
    assert stamped.sum() == 5  # 0.3125 of 16
    expected = torch.zeros(28, 28)
    expected[row, list(columns)] = 1.0
    assert all(torch.equal(image[0], expected) for image in images[stamped])
    assert images[~stamped].sum() == 0
    assert (labels[~stamped] == 5).all()


def test_the_trigger_is_the_opposite_of_the_background() -> None:
    images, labels = poisoned(background=1.0)
    assert images[labels == 2][:, 0, 0, :4].sum() == 0
    assert images[labels == 2].sum() == 5 * (28 * 28 - 4)


@pytest.mark.parametrize(("size", "pixels"), [(32, 24), (28, 16), (8, 8)])
def test_the_global_trigger_is_all_four(size: int, pixels: int) -> None:
    trigger = trojan().trigger
    assert trigger is not None
    assert trigger.target == 2
    assert trigger.stamp(torch.zeros(3, 1, size, size), 0.0).sum().item() == 3 * pixels


def test_what_cannot_be_stamped_is_refused() -> None:
    with pytest.raises(DataError, match="needs 4 x 10 pixels; images are 8 x 8"):
        poisoned(size=8, pattern="medium")
    with pytest.raises(DataError, match=r"target 10, but classes are 0 .. 9"):
        poisoned(target=10)
    attack = trojan()
    assert attack.poison is not None
    with pytest.raises(DataError, match="stamped on images"):
        attack.poison(torch.zeros(4, 64), torch.zeros(4).long(), Victim(10, 0, 0.0), Stream(0, "poison", ["a"]))
    for options in (
        {"share": 0.0},
        {"share": 1.5},
        {"target": -1},
        {"scale": 0.0},
        {"scale": math.inf},
        {"scale": math.nan},
    ):
        with pytest.raises(ValueError, match="must"):
            trojan(**options)


def test_the_same_stream_poisons_the_same_samples() -> None:
    assert torch.equal(poisoned()[1], poisoned()[1])


def test_the_scale_stretches_the_update_from_where_it_started() -> None:
    """Clients 1 and 4 lie. From 1 to 1.5 is an update of 0.5, times 4 is 2: 3. From -2 to -2.25: -3."""
    start, own = torch.tensor([1.0, -2.0]), torch.tensor([1.5, -2.25])
    everybody = Belief(own.expand(6, 2).clone(), torch.tensor([-3.0, -4.0]).expand(6, 2).clone())
    now = replace(scene(everybody), start=Belief(start.expand(2, 2), torch.zeros(2, 2)))
    attack = trojan(scale=4.0)
    assert attack.tamper is not None
    lie = attack.tamper(now, liars())
    assert lie.mean.tolist() == [[3.0, -3.0]] * 2
    assert torch.equal(lie.rho, now.own.rho)


def test_without_a_scale_nothing_is_tampered_with() -> None:
    assert trojan().tamper is None
    assert trojan(scale=1).tamper is None


def federation(**attack: object) -> Setup:
    """Six clients with digits and a linear model who average; clients 1 and 4 are malicious."""
    return assemble(
        Experiment.of(
            {
                "rounds": 5,
                "data": {"clients": 6},
                "model": {"name": "linear"},
                "learn": {"batches": 2},
                "rule": {"name": "fedavg"},
                "attack": {"clients": ["1", "4"], **attack},
            }
        )
    )


def test_a_single_shot_poisons_and_scales_in_its_round_only() -> None:
    """Each round is played again by hand: who learns from what, and what a message counts in the average."""
    shot = federation(name="trojan", scale=100.0, start=2, stop=3)
    honest, poisoned = federation(name="none"), federation(name="trojan")
    liar = torch.tensor([False, True, False, False, True, False])
    assert torch.equal(shot.malicious, liar)
    world, moved = begin(shot), []
    for round in range(5):
        alone = deepcopy(world)
        before = social(shot, world).clone()
        learn(poisoned if round == 2 else honest, alone)
        learned = social(shot, alone)
        sent = learned.mean.double()
        if round == 2:
            sent[liar] = 100 * sent[liar] - 99 * before.mean[liar].double()
        play_round(shot, world)
        after = social(shot, world)
        assert torch.allclose(after.mean.double(), sent.mean(0).expand_as(sent), atol=1e-6), round
        assert torch.allclose(after.rho, learned.rho.mean(0).expand_as(learned.rho), atol=1e-6), round
        moved.append((after.mean - before.mean).norm().item())
    assert moved[2] > 10 * max(moved[0], moved[1])  # two of six messages count a hundred times


def test_a_single_shot_leaves_the_samples_of_other_rounds_alone() -> None:
    shot = federation(name="trojan", scale=100.0, start=2, stop=3)
    told = [not torch.equal(shot.seen(round)[1], shot.clean.labels) for round in range(5)]
    assert told == [False, False, True, False, False]
    stamped = [not torch.equal(shot.seen(round)[0], shot.clean.inputs) for round in range(5)]
    assert stamped == told
