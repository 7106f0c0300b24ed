from __future__ import annotations

import itertools
from collections import Counter

import pytest
import torch

from surefed.graphs.regular import regular


@pytest.mark.parametrize(("clients", "k"), [(n, k) for n in range(1, 9) for k in range(n) if n * k % 2 == 0])
def test_everybody_hears_k_others(clients: int, k: int) -> None:
    for seed in range(10):
        edges = regular(clients, seed, k=k).edges(0)
        assert edges.sum(1).tolist() == [k + 1] * clients
        assert torch.equal(edges, edges.T)
        assert edges.diagonal().all()


def test_large_and_sparse() -> None:
    graph = regular(2000, 0, k=10).neighbours(0)
    assert graph.starts.diff().unique().tolist() == [11]
    assert len(graph.senders) == 2000 * 11


def test_every_graph_is_drawn_about_as_often() -> None:
    # Six clients, two neighbours each: 60 hexagons (5! / 2) and 10 pairs of triangles (C(6, 3) / 2), 70 graphs.
    drawn = Counter(regular(6, seed, k=2).fingerprint() for seed in range(2100))
    assert len(drawn) == 70
    # 30 of each expected. Chance alone gives a chi-square of 69 +- 12; exchanged ends are nearly, not quite, uniform.
    assert sum((count - 30) ** 2 / 30 for count in drawn.values()) < 69 + 10 * 12


def test_all_pairs_are_alike() -> None:
    total = sum(regular(7, seed, k=4).edges(0).int() for seed in range(600))
    shares = [int(total[a, b]) / 600 for a, b in itertools.combinations(range(7), 2)]
    assert min(shares) > 0.56  # each pair is joined with probability 4 / 6, give or take 0.02
    assert max(shares) < 0.77


def test_bad_degrees() -> None:
    with pytest.raises(ValueError, match="5 clients with 3 neighbours each have half an edge too many; make one of"):
        regular(5, 0, k=3)
    with pytest.raises(ValueError, match="from 0 to 4, not 5; use more clients"):
        regular(5, 0, k=5)
    with pytest.raises(ValueError, match="not -2"):
        regular(5, 0, k=-2)
