from __future__ import annotations

import networkx as nx
import pytest
import torch

from surefed.core import Belief
from surefed.graphs import from_networkx
from surefed.rules import RULES, Receivers

from .test_contract import step


def test_a_star_by_hand() -> None:
    """Client 0 hears the three others, who hear only it: W_0j = 1 / (1 + 3) either way, W_jj = 3/4, W_00 = 1/4."""
    edges = from_networkx(nx.star_graph(3)).edges(0)
    sent = Belief(torch.tensor([[8.0], [0.0], [4.0], [12.0]]), torch.full((4, 1), -3.0))
    at = Receivers(sent, 0, 1, degrees=edges.sum(1) - 1)
    outcome = step(RULES["gossip"](), at, sent, edges)
    assert outcome.social.mean.flatten().tolist() == pytest.approx([6.0, 2.0, 5.0, 11.0])
    assert outcome.social.rho.flatten().tolist() == pytest.approx([-3.0] * 4)


def test_the_mean_over_all_stays_where_it_is_on_any_undirected_graph() -> None:
    for seed in range(10):
        edges = from_networkx(nx.gnp_random_graph(9, 0.4, seed=seed)).edges(0)
        mean = torch.randn(9, 5, generator=torch.Generator().manual_seed(seed))
        sent = Belief(mean, torch.zeros_like(mean))
        at = Receivers(sent, 0, 1, degrees=edges.sum(1) - 1)
        after = step(RULES["gossip"](), at, sent, edges).social.mean
        assert torch.allclose(after.mean(0), mean.mean(0), atol=1e-6)
        plain = step(RULES["fedavg"](), at, sent, edges).social.mean
        assert not torch.allclose(plain.mean(0), mean.mean(0), atol=1e-4)  # which plain averaging does not keep


def test_on_a_complete_graph_it_is_the_plain_average() -> None:
    mean = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    sent, edges = Belief(mean, torch.zeros_like(mean)), torch.ones(6, 6, dtype=torch.bool)
    at = Receivers(sent, 0, 1, degrees=torch.full((6,), 5))
    after = step(RULES["gossip"](), at, sent, edges).social.mean
    assert torch.allclose(after, mean.mean(0).expand_as(mean), atol=1e-6)
