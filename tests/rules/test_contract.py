"""What every rule must keep to; a new file in rules/ is covered before its author writes a line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from surefed.core import Belief
from surefed.core.registry import claim
from surefed.rules import RULES, Outcome, Receivers, Rule
from surefed.rules.base import some

CLIENTS, WEIGHTS = 7, 11
EVERY_RULE = pytest.mark.parametrize("name", RULES)
SEEDS = st.integers(0, 2**20)


def world(seed: int, density: float = 0.7) -> tuple[Receivers, Belief, Tensor]:
    """Receivers close enough to most senders that some are trusted and some are not."""
    rng = torch.Generator().manual_seed(seed)

    def near(centre: Tensor, spread: float) -> Belief:
        mean = centre + spread * torch.randn(CLIENTS, WEIGHTS, generator=rng)
        return Belief(mean, -3 + torch.rand(CLIENTS, WEIGHTS, generator=rng))

    centre = torch.randn(WEIGHTS, generator=rng)
    social, local, previous = near(centre, 0.2), near(centre, 0.2), near(centre, 0.2)
    edges = (torch.rand(CLIENTS, CLIENTS, generator=rng) < density) | torch.eye(CLIENTS, dtype=torch.bool)
    at = Receivers(
        social,
        round=3,
        rounds=10,
        local=local,
        local_learns=torch.ones(CLIENTS, dtype=torch.bool),
        start=centre + 0.2 * torch.randn(WEIGHTS, generator=rng),
        previous=previous,
        malicious=torch.ones(CLIENTS, dtype=torch.int64),
        honest=torch.arange(CLIENTS) != 1,
        degrees=edges.sum(1) - 1,
        halves=(near(centre, 0.1), near(centre, 0.1)),
        loss=distance_from(local),
        layers=(4, WEIGHTS - 4),
        detail=True,
    )
    return at, social.clone(), edges


def distance_from(local: Belief) -> Callable[[Tensor, int], Tensor]:
    """A loss: how far each model is from what each receiver knows by itself. [receiver, model]"""
    return lambda models, samples: (local.mean[:, None] - models).square().mean(-1)


def step(rule: Rule, at: Receivers, sent: Belief, edges: Tensor) -> Outcome:
    return rule.step(at, sent, edges, rule.init(len(edges), len(sent), sent.weights))


def same(one: Outcome, other: Outcome, rows: Tensor | slice = slice(None)) -> None:
    assert torch.allclose(one.social.mean[rows], other.social.mean[rows], atol=1e-6)
    assert torch.allclose(one.social.std[rows], other.social.std[rows], rtol=1e-5)


@EVERY_RULE
@given(seed=SEEDS)
def test_permuting_senders_changes_nothing(name: str, seed: int) -> None:
    at, sent, edges = world(seed)
    order = torch.randperm(CLIENTS, generator=torch.Generator().manual_seed(seed))
    assert at.honest is not None
    assert at.degrees is not None
    moved = replace(at, honest=at.honest[order], degrees=at.degrees[order])
    one, other = step(RULES[name](), at, sent, edges), step(RULES[name](), moved, sent[order], edges[:, order])
    same(one, other)
    assert torch.equal(one.inspection.trusted[:, order], other.inspection.trusted)


@EVERY_RULE
@given(seed=SEEDS)
def test_a_receiver_judges_alone_as_it_does_among_others(name: str, seed: int) -> None:
    """The simulator has everybody judge at once, a peer judges alone: one system."""
    at, sent, edges = world(seed)
    together = step(RULES[name](), at, sent, edges)
    for row in range(CLIENTS):
        only = torch.tensor([row])
        alone = step(RULES[name](), some(at, only), sent, edges[only])
        assert torch.allclose(alone.social.mean[0], together.social.mean[row], atol=1e-6)
        assert torch.equal(alone.inspection.trusted[0], together.inspection.trusted[row])


@EVERY_RULE
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("part", ["mean", "rho"])
@given(seed=SEEDS, where=st.integers(0, WEIGHTS - 1))
def test_a_sender_that_is_not_a_number_is_as_good_as_silent(
    name: str, value: float, part: str, seed: int, where: int
) -> None:
    at, sent, edges = world(seed)
    silent = edges.clone()
    silent[:, 2] = False
    getattr(sent, part)[2, where] = value
    outcome = step(RULES[name](), at, sent, edges)
    assert not outcome.inspection.trusted[:, 2].any()
    same(outcome, step(RULES[name](), at, sent, silent))
    assert outcome.social.finite().all()


@EVERY_RULE
@given(seed=SEEDS)
def test_who_is_not_heard_does_not_matter(name: str, seed: int) -> None:
    at, sent, edges = world(seed)
    before = step(RULES[name](), at, sent, edges)
    sent.mean[4] += 100.0
    after = step(RULES[name](), at, sent, edges)
    same(before, after, ~edges[:, 4])
    assert not (after.inspection.trusted & ~edges).any()


@EVERY_RULE
@given(seed=SEEDS)
def test_deaf_receivers_keep_a_finite_belief_of_their_own(name: str, seed: int) -> None:
    at, sent, edges = world(seed)
    edges[3] = False
    outcome = step(RULES[name](), at, sent, edges)
    assert outcome.social.finite().all()
    assert not outcome.inspection.trusted[3].any()


@EVERY_RULE
def test_extreme_but_finite_messages_give_finite_beliefs(name: str) -> None:
    at, sent, edges = world(0, density=1.0)
    sent.mean[1], sent.mean[2], sent.rho[3], sent.rho[4] = 3e38, -3e38, -1e30, 3e38
    assert step(RULES[name](), at, sent, edges).social.finite().all()


@EVERY_RULE
@given(seed=SEEDS)
def test_nothing_that_was_given_is_written_into(name: str, seed: int) -> None:
    at, sent, edges = world(seed)
    kept = [value.clone() for value in (at.social.mean, at.social.rho, sent.mean, sent.rho, edges)]
    step(RULES[name](), at, sent, edges)
    now = (at.social.mean, at.social.rho, sent.mean, sent.rho, edges)
    assert all(torch.equal(old, new) for old, new in zip(kept, now, strict=True))


@EVERY_RULE
def test_a_rule_gets_what_it_needs_or_says_so(name: str) -> None:
    rule = RULES[name]()
    at, sent, edges = world(0)
    for need in rule.needs:
        with pytest.raises(ValueError, match=need):
            step(rule, replace(at, **{need: None}), sent, edges)
    with pytest.raises(ValueError, match="12 weights"):
        step(rule, at, Belief(torch.zeros(CLIENTS, 12), torch.zeros(CLIENTS, 12)), edges)


@EVERY_RULE
def test_it_says_what_it_does(name: str) -> None:
    assert claim(RULES[name]).endswith((".", ")"))
