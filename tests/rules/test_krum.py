from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import CLIENTS, step, world


def plain_order(own: Tensor, sent: Tensor, heard: list[int], malicious: int) -> list[int]:
    """The senders heard, the best first, one score at a time."""
    closest = min(max(len(heard) - malicious - 2, 1), len(heard) - 1)

    def key(j: int) -> tuple[float, float]:
        apart = sorted(float((sent[j] - sent[k]).double().square().sum()) for k in heard if k != j)
        return sum(apart[:closest]), float((sent[j] - own).double().square().sum())

    return sorted(heard, key=key)


def test_the_sender_closest_to_its_closest_is_taken_over() -> None:
    """0, 1, 1.5, 3 and a liar at 100, f = 1: two closest count; 1 has 0.25 + 1, 1.5 has 0.25 + 2.25."""
    sent = Belief(torch.tensor([[0.0], [1.0], [1.5], [3.0], [100.0]]), torch.arange(5.0)[:, None])
    at = Receivers(sent, 0, 1, malicious=torch.ones(5, dtype=torch.int64))
    outcome = step(RULES["krum"](), at, sent, torch.ones(5, 5) > 0)
    assert outcome.social.mean.flatten().tolist() == [1.0] * 5
    assert outcome.social.rho.flatten().tolist() == [1.0] * 5
    assert outcome.inspection.trusted.tolist() == [[False, True, False, False, False]] * 5


def test_of_two_senders_the_nearer_one_wins() -> None:
    sent = Belief(torch.tensor([[0.0], [3.0]]), torch.zeros(2, 1))
    own = Belief(torch.tensor([[1.0], [2.0]]), torch.zeros(2, 1))
    at = Receivers(own, 0, 1, malicious=torch.zeros(2, dtype=torch.int64))
    assert step(RULES["krum"](), at, sent, torch.ones(2, 2) > 0).social.mean.flatten().tolist() == [0.0, 3.0]


def test_against_one_receiver_at_a_time() -> None:
    for seed in range(20):
        at, sent, edges = world(seed, density=0.5)
        at = replace(at, malicious=torch.arange(CLIENTS) % 4)
        edges[5] = False
        outcome = step(RULES["krum"](), at, sent, edges)
        for i in range(CLIENTS):
            heard = edges[i].nonzero().flatten().tolist()
            picked = plain_order(at.social.mean[i], sent.mean, heard, i % 4)[:1]
            assert outcome.inspection.trusted[i].nonzero().flatten().tolist() == picked
            assert torch.equal(outcome.social.mean[i], sent.mean[picked[0]] if picked else at.social.mean[i])


def test_a_bad_option_is_refused() -> None:
    assert not RULES["krum"](malicious=1).needs
    with pytest.raises(ValueError, match="0 or more"):
        RULES["krum"](malicious=-1)
