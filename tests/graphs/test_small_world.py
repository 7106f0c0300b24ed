from __future__ import annotations

import pytest
import torch

from surefed.graphs.ring import ring
from surefed.graphs.small_world import small_world


def test_without_shortcuts_it_is_a_ring_of_the_k_nearest() -> None:
    edges = small_world(7, 0, k=4, p=0).edges(0)
    assert edges[0].int().tolist() == [1, 1, 1, 0, 0, 1, 1]
    assert torch.equal(edges[3], edges[0].roll(3))
    assert torch.equal(small_world(7, 0, k=2, p=0).edges(0), ring(7).edges(0))
    assert torch.equal(small_world(7, 0, k=0).edges(0), torch.eye(7, dtype=torch.bool))


@pytest.mark.parametrize("p", [0.1, 0.5, 1.0])
def test_edges_move_but_none_is_lost(p: float) -> None:
    for seed in range(20):
        edges = small_world(11, seed, k=4, p=p).edges(0)
        assert edges.sum() == 11 + 11 * 4
        assert torch.equal(edges, edges.T)
        assert edges.sum(1).min() >= 3  # everybody keeps its own end of k / 2 edges, and hears itself


def test_a_share_p_of_the_edges_moves() -> None:
    regular, moved = small_world(1000, 0, k=6, p=0).edges(0), small_world(1000, 0, k=6, p=0.2).edges(0)
    left = int((regular & moved).sum() - 1000) / 6000
    assert left == pytest.approx(0.8, abs=0.03)  # of 3000 edges; few come back to a place on the ring


def test_a_full_graph_has_nowhere_to_move() -> None:
    assert small_world(5, 0, k=4, p=1).edges(0).all()


def test_bad_options() -> None:
    for k in (3, 6, -2):
        with pytest.raises(ValueError, match=f"an even k below 6, not {k}"):
            small_world(6, 0, k=k)
    with pytest.raises(ValueError, match="from 0 to 1, not 2"):
        small_world(6, 0, p=2)
