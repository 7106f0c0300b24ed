from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from surefed.attacks import ATTACKS, Scene, Victim
from surefed.core import Belief, Stream

from .test_contract import liars, scene

neurotoxin, trojan = ATTACKS["neurotoxin"], ATTACKS["trojan"]


def lie(now: Scene, **options: float) -> Belief:
    tamper = neurotoxin(**options).tamper
    assert tamper is not None
    return tamper(now, liars())


def five_weights(beliefs: Belief) -> Scene:
    """Two honest clients whose mean update is [3, 0, -2, 1, 1]; both liars went from 0 to [10, 20, 30, 40, 50].

    The first moved by [4, 5, -1, 1, 2], the second by [2, -5, -3, 1, 0]; their weights began at 7 and at -7.
    """
    starts = torch.tensor([[7.0] * 5, [-7.0] * 5])
    moved = torch.tensor([[4.0, 5.0, -1.0, 1.0, 2.0], [2.0, -5.0, -3.0, 1.0, 0.0]])
    own = torch.tensor([[10.0, 20.0, 30.0, 40.0, 50.0]] * 2)
    return replace(
        scene(beliefs),
        own=Belief(own, torch.full((2, 5), -3.0)),
        start=Belief(torch.zeros(2, 5), torch.full((2, 5), -4.0)),
        seen=Belief(starts + moved, torch.zeros(2, 5)),
        seen_start=Belief(starts, torch.zeros(2, 5)),
    )


@pytest.mark.parametrize(
    ("keep", "mean"),
    [
        (0.2, [0.0, 20.0, 0.0, 0.0, 0.0]),  # the crowd's opposite moves of 5 cancel
        (0.4, [0.0, 20.0, 0.0, 40.0, 0.0]),  # weights 3 and 4 moved alike: the first of them
        (0.6, [0.0, 20.0, 0.0, 40.0, 50.0]),
        (0.8, [0.0, 20.0, 30.0, 40.0, 50.0]),  # |-2| is less than 3
        (1.0, [10.0, 20.0, 30.0, 40.0, 50.0]),
    ],
)
def test_only_what_the_crowd_moves_least_is_poisoned(beliefs: Belief, keep: float, mean: list[float]) -> None:
    told = lie(five_weights(beliefs), keep=keep)
    assert told.mean.tolist() == [mean] * 2
    assert told.rho.tolist() == [[-3.0 if value else -4.0 for value in mean]] * 2


def test_the_scale_stretches_what_is_poisoned_and_nothing_else(beliefs: Belief) -> None:
    now = five_weights(beliefs)
    now = replace(now, start=Belief(torch.full((2, 5), 10.0), now.start.rho))
    # from 10 to 20 is 10, times 3 is 30; from 10 to 40 likewise 90
    assert lie(now, keep=0.4, scale=3.0).mean.tolist() == [[10.0, 40.0, 10.0, 100.0, 10.0]] * 2


def test_without_a_crowd_to_see_it_is_the_liars_own_update(beliefs: Belief) -> None:
    """Of the liars' own update [10, 20, 30, 40, 50], the two smallest; whether they see themselves or nobody."""
    now = five_weights(beliefs)
    for seen, start in ((now.own, now.start), (now.own[:0], now.start[:0])):
        told = lie(replace(now, seen=seen, seen_start=start), keep=0.4)
        assert told.mean.tolist() == [[10.0, 20.0, 0.0, 0.0, 0.0]] * 2


@pytest.mark.parametrize(("keep", "count"), [(0.95, 190), (0.99, 198), (0.9974, 199), (0.9976, 200), (0.001, 0)])
def test_as_many_weights_as_asked_for_and_the_quietest(rng: torch.Generator, keep: float, count: int) -> None:
    everybody = Belief(torch.randn(6, 200, generator=rng), torch.zeros(6, 200))
    now = scene(everybody)
    now = replace(now, seen_start=Belief(torch.randn(4, 200, generator=rng), torch.zeros(4, 200)))
    moved = [
        abs(sum(now.seen.mean[at, k].item() - now.seen_start.mean[at, k].item() for at in range(4))) for k in range(200)
    ]
    quietest = sorted(range(200), key=lambda k: (moved[k], k))[:count]
    poisoned = lie(now, keep=keep).mean != now.start.mean
    assert [row.nonzero().flatten().tolist() for row in poisoned] == [sorted(quietest)] * 2


def test_a_crowd_that_stands_still_leaves_the_first_weights_poisoned(beliefs: Belief) -> None:
    now = scene(beliefs)
    poisoned = lie(replace(now, seen_start=now.seen), keep=0.5).mean != now.start.mean
    assert poisoned.tolist() == [[True] * 6 + [False] * 7] * 2  # round(6.5) is 6, the even one


def test_the_order_of_the_crowd_does_not_matter(beliefs: Belief) -> None:
    now, turned = scene(beliefs), torch.tensor([2, 0, 3, 1])
    now = replace(now, seen_start=Belief(now.seen_start.mean.flip(1), now.seen_start.rho))
    other = replace(now, seen=now.seen[turned], seen_start=now.seen_start[turned])
    assert torch.equal(lie(now).mean, lie(other).mean)


def test_the_backdoor_is_the_trojans() -> None:
    images, labels = torch.zeros(16, 1, 28, 28), torch.full((16,), 5)
    who, options = Victim(10, 3, 0.0), {"target": 7, "share": 0.5, "pattern": "small"}
    ours, theirs = neurotoxin(**options), trojan(**options)
    one, other = (attack.poison(images, labels, who, Stream(0, "poison", ["a"])) for attack in (ours, theirs))
    assert torch.equal(one[0], other[0])
    assert torch.equal(one[1], other[1])
    assert (one[1] == 7).sum() == 8
    assert ours.trigger.target == 7
    assert torch.equal(ours.trigger.stamp(images, 0.0), theirs.trigger.stamp(images, 0.0))


def test_values_out_of_range_are_refused() -> None:
    for options in ({"keep": 0.0}, {"keep": 1.5}, {"share": 0.0}, {"target": -1}, {"scale": -1.0}):
        with pytest.raises(ValueError, match="must"):
            neurotoxin(**options)
