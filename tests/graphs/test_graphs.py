from __future__ import annotations

import networkx as nx
import pytest
import torch

from surefed.core import DataError
from surefed.graphs import GRAPHS, Fixed, from_networkx


@pytest.mark.parametrize("name", GRAPHS)
def test_everybody_hears_itself(name: str) -> None:
    graph = GRAPHS[name](5)
    assert graph.clients == 5
    assert graph.edges(0).diagonal().all()
    assert graph.edges(0).dtype == torch.bool


def test_complete_is_complete() -> None:
    assert GRAPHS["complete"](4).edges(9).all()


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


def test_what_is_no_graph_is_refused() -> None:
    with pytest.raises(DataError, match="networkx graph, not list"):
        from_networkx([[0, 1]])
    with pytest.raises(DataError, match="square bool"):
        Fixed(torch.ones(2, 3, dtype=torch.bool))
