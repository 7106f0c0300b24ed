from __future__ import annotations

import numpy as np
import pytest
import torch

from surefed.graphs.connectivity import connectivity
from surefed.graphs.scale_free import scale_free


@pytest.mark.parametrize(("clients", "m"), [(2, 1), (10, 1), (10, 3), (10, 9), (60, 2)])
def test_newcomers_join_m_others(clients: int, m: int) -> None:
    graph = scale_free(clients, 0, m=m)
    edges = graph.edges(0)
    assert int(edges.sum()) == clients + 2 * m * (clients - m)
    assert torch.equal(edges, edges.T)
    before = edges.tril(-1).sum(1)  # how many each joined on arrival
    assert before.tolist() == [0] * m + [m] * (clients - m)
    assert connectivity(graph, torch.ones(clients, dtype=torch.bool), 1) == 1


def test_the_rich_get_richer() -> None:
    # m = 1: client 2 joins 0 or 1, which have one edge each; client 3 then joins the one with two edges of four.
    hubs = 0
    for seed in range(2000):
        edges = scale_free(4, seed, m=1).edges(0)
        hub = 0 if edges[2, 0] else 1
        hubs += int(edges[3, hub])
    assert hubs / 2000 == pytest.approx(0.5, abs=5 * np.sqrt(0.25 / 2000))


def test_degrees_have_a_heavy_tail() -> None:
    degrees = scale_free(3000, 0, m=2).neighbours(0).starts.diff() - 1
    assert degrees.float().mean() == pytest.approx(4, abs=0.01)
    assert degrees.max() > 60  # of order m sqrt(clients) = 110; a random graph of the same size has at most about 15


def test_bad_m() -> None:
    for m in (0, 5):
        with pytest.raises(ValueError, match=f"from 1 to 4, not {m}"):
            scale_free(5, 0, m=m)
