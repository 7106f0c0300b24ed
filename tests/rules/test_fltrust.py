from __future__ import annotations

import pytest
import torch
from hypothesis import given
from torch.nn.functional import cosine_similarity

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import CLIENTS, SEEDS, step, world

fltrust = RULES["fltrust"]


def test_a_round_worked_by_hand() -> None:
    """From p = (1, 1) the receiver moved by (3, 4). Cosines: 1 for itself, 0.6 for (10, 0), -0.6 for (-1, 0)."""
    previous = Belief(torch.ones(1, 2), torch.zeros(1, 2))
    sent = Belief(
        torch.tensor([[4.0, 5.0], [11.0, 1.0], [0.0, 1.0]]), torch.tensor([[-1.0], [-3.0], [5.0]]).expand(3, 2)
    )
    at = Receivers(sent[:1], 0, 1, previous=previous)
    outcome = step(fltrust(), at, sent, torch.ones(1, 3, dtype=torch.bool))
    # all are scaled to length 5: (1 * (3, 4) + 0.6 * (5, 0)) / 1.6 = (3.75, 2.5)
    assert outcome.social.mean[0].tolist() == pytest.approx([4.75, 3.5])
    assert outcome.social.rho[0].tolist() == pytest.approx([-(1 + 0.6 * 3) / 1.6] * 2)
    assert outcome.inspection.trusted.tolist() == [[True, True, False]]  # who points backwards weighs nothing


def test_where_nobody_points_forward_the_own_update_stays() -> None:
    previous, own = Belief(torch.zeros(1, 2), torch.zeros(1, 2)), Belief(torch.ones(1, 2), torch.ones(1, 2))
    sent = Belief(torch.tensor([[-1.0, -2.0], [0.0, 0.0]]), torch.zeros(2, 2))  # backwards, and not moved at all
    outcome = step(fltrust(), Receivers(own, 0, 1, previous=previous), sent, torch.ones(1, 2, dtype=torch.bool))
    assert torch.equal(outcome.social.mean, own.mean)
    assert torch.equal(outcome.social.rho, own.rho)
    assert not outcome.inspection.trusted.any()


def test_the_length_of_an_update_does_not_matter() -> None:
    at, sent, edges = world(0)
    assert at.previous is not None
    longer = sent.clone()
    longer.mean[2] = at.previous.mean[0] + 1000 * (sent.mean[2] - at.previous.mean[0])
    one, other = (step(fltrust(), at, messages, edges | True) for messages in (sent, longer))
    assert torch.allclose(one.social.mean[0], other.social.mean[0], atol=1e-5)


@given(seed=SEEDS)
def test_one_receiver_at_a_time_as_the_paper_writes_it(seed: int) -> None:
    at, sent, edges = world(seed)
    assert at.previous is not None
    outcome = step(fltrust(), at, sent, edges)
    for i in range(CLIENTS):
        start = at.previous.mean[i].double()
        own = at.social.mean[i].double() - start
        total, update, rho = 0.0, torch.zeros_like(own), torch.zeros_like(own)
        for j in edges[i].nonzero().flatten().tolist():
            theirs = sent.mean[j].double() - start
            score = max(0.0, float(cosine_similarity(theirs, own, dim=0)))
            assert bool(outcome.inspection.trusted[i, j]) == (score > 0)
            total, update = total + score, update + score * theirs * own.norm() / theirs.norm()
            rho = rho + score * sent.rho[j]
        assert torch.allclose(outcome.social.mean[i].double(), start + update / total, atol=1e-6)
        assert torch.allclose(outcome.social.rho[i].double(), rho / total, atol=1e-5)
