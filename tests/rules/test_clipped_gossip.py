from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import CLIENTS, step, world


def test_with_one_liar_the_radius_is_the_second_largest_distance() -> None:
    """From 0, senders at 0, 1, -3 and 1000: the last pulls like 3, (0 + 1 - 3 + 3) / 4."""
    own = Belief(torch.zeros(1, 1), torch.zeros(1, 1))
    sent = Belief(torch.tensor([[0.0], [1.0], [-3.0], [1000.0]]), torch.zeros(4, 1))
    at = Receivers(own, 0, 1, malicious=torch.tensor([1]))
    found = step(RULES["clipped_gossip"](), at, sent, torch.ones(1, 4) > 0).social.mean
    assert found.item() == pytest.approx(0.25)
    told = step(RULES["clipped_gossip"](tau=2.0), at, sent, torch.ones(1, 4) > 0).social.mean
    assert told.item() == pytest.approx((1 - 2 + 2) / 4)


def test_without_liars_it_is_gossip() -> None:
    at, sent, edges = world(0)
    at = replace(at, malicious=torch.zeros(CLIENTS, dtype=torch.int64))
    mean = step(RULES["fedavg"](), at, sent, edges).social.mean
    assert torch.allclose(step(RULES["clipped_gossip"](), at, sent, edges).social.mean, mean, atol=1e-6)


def test_hearing_oneself_and_otherwise_only_liars_leaves_one_where_one_is() -> None:
    at, sent, edges = world(0, density=1.0)
    at = replace(at, malicious=torch.full((CLIENTS,), CLIENTS - 1))
    found = step(RULES["clipped_gossip"](), at, sent, edges).social.mean
    assert torch.allclose(found, at.social.mean, atol=1e-6)


def test_against_one_receiver_at_a_time() -> None:
    for seed in range(20):
        at, sent, edges = world(seed, density=0.5)
        at = replace(at, malicious=torch.arange(CLIENTS) % 4)
        sent.mean[2] *= 5
        edges[5] = False
        found = step(RULES["clipped_gossip"](), at, sent, edges).social
        for i in range(CLIENTS):
            own = at.social.mean[i].double()
            moves = [sent.mean[j].double() - own for j in edges[i].nonzero().flatten().tolist()]
            far = sorted((float(move.norm()) for move in moves), reverse=True)
            for move in moves:
                tau = far[min(i % 4, len(far) - 1)]
                own = own + move * min(1.0, tau / max(float(move.norm()), 1e-300)) / len(moves)
            assert torch.allclose(found.mean[i].double(), own, atol=1e-6)


def test_a_bad_option_is_refused() -> None:
    assert not RULES["clipped_gossip"](tau=1.0).needs
    with pytest.raises(ValueError, match="above 0"):
        RULES["clipped_gossip"](tau=0.0)
