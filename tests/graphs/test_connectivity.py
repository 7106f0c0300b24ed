from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
import torch

from surefed.graphs import Fixed, from_networkx, named
from surefed.graphs.complete import complete
from surefed.graphs.connectivity import components, connectivity, warning
from surefed.graphs.periodic import Periodic
from surefed.graphs.ring import ring
from surefed.graphs.star import star


class Listed:
    """A graph for each round, written down."""

    def __init__(self, rounds: list[torch.Tensor]) -> None:
        self.rounds, self.clients = rounds, len(rounds[0])

    def edges(self, round: int) -> torch.Tensor:
        return self.rounds[round] | torch.eye(self.clients, dtype=torch.bool)

    def fingerprint(self) -> str:
        return "listed"


def everybody(clients: int, *malicious: int) -> torch.Tensor:
    honest = torch.ones(clients, dtype=torch.bool)
    honest[list(malicious)] = False
    return honest


def strongly(matrix: np.ndarray) -> bool:
    return bool(nx.is_strongly_connected(nx.from_numpy_array(matrix > 0, create_using=nx.DiGraph)))


def by_the_definition(graph: Listed, honest: torch.Tensor, rounds: int) -> int | None:
    """The least B such that the product of the adjacency matrices of any B rounds is strongly connected."""
    for length in range(1, rounds + 1):
        windows = []
        for begin in range(rounds - length + 1):
            product = np.eye(int(honest.sum()))
            for round in range(begin, begin + length):
                product = (graph.edges(round)[honest][:, honest].numpy() @ product > 0).astype(float)
            windows.append(strongly(product))
        if all(windows):
            return length
    return None


@pytest.mark.parametrize("density", [0.08, 0.15, 0.3])
def test_against_the_definition(density: float) -> None:
    rng = np.random.default_rng(int(density * 100))
    answers = []
    for _ in range(60):
        clients, rounds = int(rng.integers(1, 6)), int(rng.integers(1, 12))
        listed = [torch.from_numpy(rng.random((clients, clients)) < density) for _ in range(rounds)]
        for at in range(1, rounds):  # stretches in which nothing changes
            if rng.random() < 0.4:
                listed[at] = listed[at - 1]
        honest = torch.from_numpy(rng.random(clients) < 0.8)
        honest[rng.integers(clients)] = True
        graph = Listed(listed)
        expected = by_the_definition(graph, honest, rounds)
        assert connectivity(graph, honest, rounds) == expected
        assert (warning(graph, honest, rounds) is None) == (expected is not None)
        answers.append(expected)
    assert None in answers
    assert len(set(answers)) > 3  # all kinds of answers were put to the test


def test_fixed_graphs() -> None:
    assert connectivity(complete(5), everybody(5), 10) == 1
    assert connectivity(ring(5), everybody(5, 2), 10) == 1  # a line of four
    assert connectivity(ring(5), everybody(5, 0, 2), 10) is None  # client 1 is alone, 3 and 4 together
    assert connectivity(star(5), everybody(5, 0), 10) is None  # the centre lies
    assert connectivity(star(5), everybody(5, 1, 2, 3, 4), 10) == 1  # one honest client


def test_one_way_is_not_enough() -> None:
    chain = from_networkx(nx.DiGraph([(0, 1), (1, 2)]))
    assert connectivity(chain, everybody(3), 5) is None
    assert connectivity(from_networkx(nx.DiGraph([(0, 1), (1, 2), (2, 0)])), everybody(3), 5) == 1


def test_a_window_by_hand() -> None:
    # Nobody hears anybody for 9 rounds, then everybody for 1: rounds 9, 19 and 29 of 30.
    # The longest wait is from round 10 to round 19: any 10 rounds hold one of these, 9 need not.
    alone = Fixed(torch.eye(4, dtype=torch.bool))
    graph = Periodic([(alone, 9), (complete(4), 1)])
    assert connectivity(graph, everybody(4), 30) == 10
    # With 28 rounds the last eight, 20 to 27, are silent: less than the wait from 10 to 19.
    assert connectivity(graph, everybody(4), 28) == 10
    assert connectivity(graph, everybody(4), 10) == 10
    assert connectivity(graph, everybody(4), 9) is None
    # First everybody and then silence: of 16 rounds the last 15 are silent, so it takes all 16.
    late = Periodic([(complete(4), 1), (alone, 99)])
    assert connectivity(late, everybody(4), 16) == 16


def test_halves_of_a_ring_in_turn() -> None:
    # Edges 0-1, 2-3 in even rounds and 1-2, 3-0 in odd ones: neither joins all four, two in a row do.
    even = from_networkx(nx.Graph([(0, 1), (2, 3)]))
    odd = nx.Graph()
    odd.add_nodes_from(range(4))
    odd.add_edges_from([(1, 2), (3, 0)])
    graph = Periodic([(even, 1), (from_networkx(odd), 1)])
    assert connectivity(graph, everybody(4), 20) == 2
    assert connectivity(graph, everybody(4), 1) is None
    slow = Periodic([(even, 5), (from_networkx(odd), 5)])
    assert connectivity(slow, everybody(4), 20) == 6  # from the first round of a turn to the first of the next


def test_the_paper_s_time_varying_graph() -> None:
    ids = tuple(str(at) for at in range(20))
    graph = named("time_varying", {}, clients=20, seed=0, ids=ids)
    assert connectivity(graph, everybody(20, *range(8)), 1200) == 1


def test_the_warning_names_two_clients_and_the_parts() -> None:
    # Honest: a, b, d, e of a ring a b c d e with c malicious and the edge d-e cut: e-a-b together, d alone.
    cut = from_networkx(nx.Graph([(0, 1), (1, 2), (2, 3), (4, 0)]))
    said = warning(cut, everybody(5, 2), 50, "abcde")
    assert said is not None
    assert "in 50 rounds, no chain of honest clients leads from client d to client a" in said
    assert "4 honest clients fall into 2 parts, the largest of 3" in said
    assert warning(ring(5), everybody(5, 2), 50) is None


def test_the_warning_tells_which_way_is_missing() -> None:
    chain = from_networkx(nx.DiGraph([(0, 1)]))  # 0 speaks to 1
    said = warning(chain, everybody(2), 3)
    assert said is not None
    assert "leads from client 1 to client 0" in said
    back = nx.DiGraph()
    back.add_nodes_from([0, 1])
    back.add_edge(1, 0)
    said = warning(from_networkx(back), everybody(2), 3)
    assert said is not None
    assert "leads from client 0 to client 1" in said


def test_components_against_networkx() -> None:
    rng = np.random.default_rng(0)
    for clients, edges in itertools.product((1, 5, 40), (0, 3, 30)):
        one, other = rng.integers(clients, size=(2, edges))
        whole = nx.Graph(zip(one.tolist(), other.tolist(), strict=True))
        whole.add_nodes_from(range(clients))
        lowest = {client: min(part) for part in nx.connected_components(whole) for client in part}
        assert components(clients, one, other).tolist() == [lowest[client] for client in range(clients)]


def test_components_of_a_long_line_in_any_order() -> None:
    names = np.random.default_rng(0).permutation(5000)
    assert (components(5000, names[:-1], names[1:]) == 0).all()


def test_bad_questions() -> None:
    with pytest.raises(ValueError, match="at least 1 round, not 0"):
        connectivity(ring(4), everybody(4), 0)
    with pytest.raises(ValueError, match="at least one of 4 clients"):
        connectivity(ring(4), torch.zeros(4, dtype=torch.bool), 3)
    with pytest.raises(ValueError, match="a bool tensor of that length"):
        warning(ring(4), everybody(5), 3)
