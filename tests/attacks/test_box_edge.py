from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from surefed.attacks import ATTACKS, Scene
from surefed.core import Belief, rho_of
from surefed.rules import RULES, Receivers

from .test_contract import liars, scene

box_edge = ATTACKS["box_edge"]


def tiny() -> Scene:
    """One honest client, local belief N((1, 2), 0.1^2), that learned (+, -); one liar, local N((0, 0), 0.2^2)."""
    place = Belief(torch.tensor([[1.0, 2.0]]), rho_of(torch.full((1, 2), 0.1)))
    own = Belief(torch.zeros(1, 2), rho_of(torch.full((1, 2), 0.2)))
    start = Belief(torch.tensor([[0.5, 2.5]]), place.rho)
    malicious, edges = torch.tensor([False, True]), torch.ones(2, 2, dtype=torch.bool)
    return Scene(own, own, place, start, malicious, edges, 0, own_local=own, honest_local=place)


def test_half_way_to_the_edge_against_the_update() -> None:
    lie = box_edge(fraction=0.5, kappa=4.0).tamper(tiny(), liars())
    assert lie.mean[0].tolist() == pytest.approx([1.0 - 0.2, 2.0 + 0.2])
    assert torch.equal(lie.rho, tiny().own.rho)


def test_who_does_not_know_the_victims_guesses_from_itself() -> None:
    lie = box_edge(fraction=0.5, kappa=4.0, variance=0.01).tamper(replace(tiny(), honest_local=None), liars())
    assert lie.mean[0].tolist() == pytest.approx([-0.4, 0.4])
    assert lie.std[0].tolist() == pytest.approx([0.002, 0.002], rel=1e-4)


@pytest.mark.parametrize(("fraction", "trusted"), [(0.5, True), (0.99, True), (1.01, False)])
def test_surefed_trusts_whatever_stays_inside_the_band_of_its_only_honest_client(
    fraction: float, trusted: bool
) -> None:
    known = tiny()
    sent = box_edge(fraction=fraction, kappa=3.0).tamper(known, liars())
    at = Receivers(known.seen, 0, 1, local=known.honest_local, local_learns=torch.tensor([True]))
    rule = RULES["surefed"](kappa=3.0, heading="off", std_floor=0.0, std_ceiling=0.0)
    outcome = rule.step(at, sent, torch.ones(1, 1, dtype=torch.bool), rule.init(1, 1, sent.weights))
    assert outcome.inspection.trusted.item() is trusted


def test_with_nobody_honest_left_the_lie_is_still_a_number(beliefs: Belief) -> None:
    everybody = scene(beliefs, malicious=torch.ones(6, dtype=torch.bool))
    assert box_edge().tamper(everybody, liars()).finite().all()


def test_values_out_of_range_are_refused() -> None:
    for options in ({"kappa": -1.0}, {"variance": 0.0}):
        with pytest.raises(ValueError, match="must"):
            box_edge(**options)
