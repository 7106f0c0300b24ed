from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
import torch

from surefed.graphs.base import Neighbours, heard
from surefed.graphs.complete import complete
from surefed.graphs.drop_edges import drop, drop_edges
from surefed.graphs.time_varying import time_varying

IDS = tuple(str(at) for at in range(20))


def pairs(edges: torch.Tensor) -> int:
    return int((edges | edges.T).triu(1).sum())


def joined(edges: torch.Tensor) -> bool:
    return bool(nx.is_connected(nx.from_numpy_array(edges.numpy())))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.2, 0.33, 0.5, 0.9, 1.0])
def test_exactly_that_share_is_dropped(share: float) -> None:
    for seed in range(5):
        edges = drop_edges(20, seed, IDS, share=share).edges(0)
        assert pairs(edges) == 190 - round(share * 190)
        assert torch.equal(edges, edges.T)
        assert edges.diagonal().all()
        assert joined(edges) == (190 - round(share * 190) >= 19)  # wherever a tree could be left, all are joined


def test_the_paper_s_graph() -> None:
    edges = drop_edges(20, 0, IDS).edges(1199)
    assert int(edges.sum()) == 20 + 2 * 152  # 20 % of 190 is 38


def test_only_edges_that_were_there_are_left() -> None:
    edges = drop_edges(20, 0, IDS, of="grid", share=0.3).edges(0)  # 4 x 5: 31 edges, 9 dropped
    assert pairs(edges) == 22
    assert joined(edges)
    assert not (edges & ~drop_edges(20, 0, IDS, of="grid", share=0).edges(0)).any()


def test_too_few_edges_to_join_everybody() -> None:
    assert pairs(drop_edges(20, 0, IDS, of="ring").edges(0)) == 16
    assert joined(drop_edges(20, 0, IDS, of="ring", share=0.05).edges(0))  # one of twenty: a line


def test_a_tree_is_found_where_chance_would_not_find_it() -> None:
    # 19 of 190 edges must join 20 clients: 20^18 trees among C(190, 19) choices, about one in 245.
    # Among 40 clients it is one in 2e+05.
    ids = tuple(str(at) for at in range(40))
    for seed in range(5):
        edges = drop_edges(40, seed, ids, share=0.95).edges(0)
        assert pairs(edges) == 39
        assert joined(edges)


def test_parts_that_were_apart_stay_apart_and_whole() -> None:
    edges = torch.block_diag(*[torch.ones(5, 5)] * 2).bool()
    whole = heard(10, *edges.nonzero().T.numpy())
    for seed in range(20):
        left = drop(whole, 0.5, np.random.default_rng(seed)).dense()
        parts = list(nx.connected_components(nx.from_numpy_array(left.numpy())))
        assert sorted(map(sorted, parts)) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_both_directions_go_together_and_single_ones_stay_single() -> None:
    # 0 <-> 1, 1 -> 2, 2 -> 0: three pairs, one of which goes.
    whole = heard(3, np.array([1, 0, 2, 0]), np.array([0, 1, 1, 2]))
    seen = Counter(str(drop(whole, 1 / 3, np.random.default_rng(seed)).dense().int().tolist()) for seed in range(60))
    assert set(seen) == {
        "[[1, 0, 1], [0, 1, 0], [0, 1, 1]]",
        "[[1, 1, 1], [1, 1, 0], [0, 0, 1]]",
        "[[1, 1, 0], [1, 1, 0], [0, 1, 1]]",
    }


def test_connected_graphs_are_drawn_alike() -> None:
    # Four clients, six edges, three dropped: 16 trees, and 4 triangles that leave somebody out and are drawn again.
    whole = complete(4).neighbours(0)
    drawn = Counter(drop(whole, 0.5, np.random.default_rng(seed)).digest() for seed in range(800))
    assert len(drawn) == 16
    assert sum((count - 50) ** 2 / 50 for count in drawn.values()) < 15 + 5 * np.sqrt(30)


def test_edges_are_renewed_every_so_many_rounds() -> None:
    graph, first = time_varying(20, 3, IDS), drop_edges(20, 3, IDS)
    draws = [graph.edges(round) for round in (0, 100, 200, 300)]
    assert torch.equal(draws[0], first.edges(0))
    assert len({str(draw.tolist()) for draw in draws}) == 4
    for round in (0, 99, 100, 199, 299, 300):
        assert torch.equal(graph.edges(round), draws[round // 100])
        assert pairs(graph.edges(round)) == 152


def test_a_graph_that_comes_again_loses_the_same_edges() -> None:
    turns = {"graphs": [{"of": "complete"}, {"of": "grid"}]}
    graph = drop_edges(20, 0, IDS, of="periodic", of_options=turns)
    assert torch.equal(graph.edges(0), graph.edges(2))
    assert not torch.equal(graph.edges(0), graph.edges(1))
    assert torch.equal(graph.edges(0), drop_edges(20, 0, IDS).edges(0))


def test_dropping_twice_is_two_draws() -> None:
    edges = drop_edges(20, 0, IDS, share=0.5, of="drop_edges", of_options={"share": 0.5}).edges(0)
    assert pairs(edges) == 190 - 95 - round(0.5 * 95)


def test_digests_know_share_seed_and_pace() -> None:
    made = [
        drop_edges(20, 0, IDS),
        drop_edges(20, 1, IDS),
        drop_edges(20, 0, IDS, share=0.3),
        drop_edges(20, 0, IDS, of="grid"),
        time_varying(20, 0, IDS),
        time_varying(20, 0, IDS, every=50),
    ]
    assert len({graph.fingerprint() for graph in made}) == len(made)
    assert isinstance(made[0].neighbours(0), Neighbours)


def test_bad_options() -> None:
    for share in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="from 0 to 1"):
            drop_edges(20, 0, IDS, share=share)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        time_varying(20, 0, IDS, every=0)
