from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from surefed.core import ConfigError, DataError
from surefed.graphs import Fixed, Neighbours, from_networkx, named, neighbours
from surefed.graphs.base import digest, heard, joined

IDS = tuple("abcdef")


def test_directed_edges_go_from_sender_to_receiver() -> None:
    edges = from_networkx(nx.DiGraph([("a", "b"), ("b", "c")])).edges(0)  # a speaks to b, b to c
    assert edges.int().tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]


def test_undirected_and_weighted_graphs() -> None:
    ring = from_networkx(nx.cycle_graph(5)).edges(0)
    assert torch.equal(ring, ring.T)
    assert ring.sum(1).tolist() == [3] * 5
    weighted = nx.Graph()
    weighted.add_edge(0, 1, weight=0.0)  # an edge is an edge whatever its weight
    assert from_networkx(weighted).edges(0).all()
    assert torch.equal(from_networkx(nx.empty_graph(3)).edges(0), torch.eye(3, dtype=torch.bool))
    assert from_networkx(nx.MultiGraph([(0, 1), (0, 1)])).edges(0).all()


def test_what_is_no_graph_is_refused() -> None:
    with pytest.raises(DataError, match="networkx graph, not list"):
        from_networkx([[0, 1]])
    with pytest.raises(DataError, match="square bool"):
        Fixed(torch.ones(2, 3, dtype=torch.bool))


def test_neighbours_are_the_edges_row_by_row() -> None:
    # 0 hears 2 (told twice), 2 hears 0 and 1; everybody hears itself, senders ascend.
    made = heard(3, np.array([2, 0, 2, 0]), np.array([1, 2, 0, 2]))
    assert made.starts.tolist() == [0, 2, 3, 6]
    assert made.senders.tolist() == [0, 2, 1, 0, 1, 2]
    assert made.receivers.tolist() == [0, 0, 1, 2, 2, 2]
    assert made.dense().int().tolist() == [[1, 0, 1], [0, 1, 0], [1, 1, 1]]
    assert made.only(made.senders.numpy() == 1).dense().int().tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 1]]


def test_dense_and_sparse_say_the_same() -> None:
    edges = torch.from_numpy(np.random.default_rng(0).random((7, 7)) < 0.3)
    dense = Fixed(edges)
    sparse = Fixed(dense.neighbours(0))
    assert torch.equal(sparse.edges(3), edges | torch.eye(7, dtype=torch.bool))
    assert sparse.clients == dense.clients == 7
    assert sparse.fingerprint() == dense.fingerprint() != Fixed(~edges).fingerprint()
    assert sparse.edges(0) is sparse.edges(1)


class Own:
    """A graph with nothing but what the protocol asks for."""

    clients = 2

    def edges(self, round: int) -> torch.Tensor:
        return torch.ones(2, 2, dtype=torch.bool) if round else torch.eye(2, dtype=torch.bool)

    def fingerprint(self) -> str:
        return "own"


def test_anybodys_graph_has_neighbours() -> None:
    assert neighbours(Own(), 0).senders.tolist() == [0, 1]
    assert neighbours(Own(), 1).senders.tolist() == [0, 1, 0, 1]
    assert isinstance(neighbours(Own(), 1), Neighbours)


def test_digests_tell_where_one_part_ends() -> None:
    assert digest("ab", "c") != digest("a", "bc")


def test_joined_hears_both_ways() -> None:
    assert joined(2, np.array([1]), np.array([0])).dense().all()


def test_graphs_by_name_or_import_path() -> None:
    assert named("complete", None, clients=6, seed=0, ids=IDS).edges(0).all()
    ring = named("networkx:cycle_graph", {}, clients=6, seed=0, ids=IDS)
    assert torch.equal(ring.edges(0), named("ring", {}, clients=6, seed=0, ids=IDS).edges(0))
    made = [
        named("networkx:gnp_random_graph", {"p": 0.5}, clients=30, seed=seed, ids=IDS).fingerprint()
        for seed in (1, 1, 2)
    ]
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize(
    ("name", "given", "error", "message"),
    [
        ("rnig", {}, ConfigError, "did you mean 'ring'"),
        ("ring", {"k": 3}, ConfigError, "no option 'k'"),
        ("regular", {"k": "many"}, ConfigError, "valid integer"),
        ("networkx:cycle_graph", {"n": 5}, DataError, "5 nodes, but there are 6 clients; make them equal"),
        ("networkx:cycle_graph", {"m": 5}, ConfigError, "cannot build the graph"),
        ("networkx:number_of_nodes", {"G": nx.empty_graph(3)}, DataError, "networkx graph, not int"),
    ],
)
def test_bad_names_and_options(name: str, given: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        named(name, given, clients=6, seed=0, ids=IDS)
