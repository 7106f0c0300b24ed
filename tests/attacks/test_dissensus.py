from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from surefed.attacks import ATTACKS
from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import MALICIOUS, heard, liars, scene

dissensus = ATTACKS["dissensus"]


def test_a_case_worked_by_hand() -> None:
    """Honest clients 0, 2, 3, 5 at 0, 2, 3, 5: client 2 is pulled by (-2 + 1 + 3) = 2, and hears two liars."""
    learned = Belief(torch.arange(6.0)[:, None], torch.arange(6.0)[:, None])
    sent = dissensus(eps=1.5).send(learned, scene(learned), liars())
    assert [heard(sent, 2, liar).mean.item() for liar in (1, 4)] == pytest.approx([2 - 1.5 * 2 / 2] * 2)
    assert [heard(sent, 0, liar).mean.item() for liar in (1, 4)] == pytest.approx([0 - 1.5 * 10 / 2] * 2)
    assert [heard(sent, 2, liar).rho.item() for liar in (1, 4)] == [1.0, 4.0]
    assert [heard(sent, 1, liar).mean.item() for liar in (1, 4)] == [1.0, 4.0]  # among themselves, the truth


@pytest.mark.parametrize("density", [0.5, 1.0])
def test_with_eps_1_the_plain_average_leaves_every_victim_where_it_is(
    beliefs: Belief, rng: torch.Generator, density: float
) -> None:
    edges = (torch.rand(6, 6, generator=rng) < density) | torch.eye(6, dtype=torch.bool)
    known = replace(scene(beliefs), edges=edges)
    sent = dissensus(eps=1.0).send(beliefs, known, liars())
    rule = RULES["fedavg"]()
    after = rule.step(
        Receivers(beliefs, 0, 1), sent.belief, sent.edges, rule.init(6, len(sent.sender), sent.belief.weights)
    ).social
    victims = ~MALICIOUS & edges[:, MALICIOUS].any(1)
    assert victims.any()
    assert torch.allclose(after.mean[victims], beliefs.mean[victims], atol=1e-5)
    for liar in (1, 4):
        told = (sent.edges & (sent.sender == liar)).sum(1)
        assert torch.equal(told, edges[:, liar].long())


def test_who_does_not_know_the_victims_tells_everybody_the_same(beliefs: Belief) -> None:
    sent = dissensus().send(beliefs, scene(beliefs, "own_data"), liars())
    middle = beliefs.mean[MALICIOUS].mean(0)
    assert all(torch.allclose(heard(sent, i, liar).mean, middle, atol=1e-6) for i in range(6) for liar in (1, 4))


@pytest.mark.parametrize("knowledge", ["omniscient", "own_data"])
def test_with_nobody_honest_left_the_lie_is_still_a_number(beliefs: Belief, knowledge: str) -> None:
    everybody = scene(beliefs, knowledge, malicious=torch.ones(6, dtype=torch.bool))
    assert dissensus().send(beliefs, everybody, liars()).belief.finite().all()
