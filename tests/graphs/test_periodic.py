from __future__ import annotations

from typing import Any

import pytest
import torch

from surefed.core import ConfigError
from surefed.graphs.complete import complete
from surefed.graphs.periodic import periodic
from surefed.graphs.ring import ring
from surefed.graphs.star import star

IDS = tuple("abcde")


def test_graphs_take_turns() -> None:
    entries = [
        {"of": "ring", "rounds": 2},
        {"of": "star", "of_options": {"centre": 1}},
        {"of": "complete", "rounds": 3},
    ]
    graph = periodic(5, 0, IDS, graphs=entries)
    turns = [ring(5), ring(5), star(5, centre=1), complete(5), complete(5), complete(5)]
    for round in range(18):
        assert torch.equal(graph.edges(round), turns[round % 6].edges(0))


def test_two_random_graphs_are_two_draws() -> None:
    graph = periodic(5, 0, IDS, graphs=[{"of": "erdos_renyi", "of_options": {"p": 0.5}}] * 2)
    assert not torch.equal(graph.edges(0), graph.edges(1))
    assert torch.equal(graph.edges(0), graph.edges(2))


def test_digests_know_who_comes_when() -> None:
    orders = [
        [{"of": "ring"}, {"of": "star"}],
        [{"of": "star"}, {"of": "ring"}],
        [{"of": "ring"}, {"of": "star", "rounds": 2}],
        [{"of": "ring", "rounds": 2}, {"of": "star"}],
    ]
    assert len({periodic(5, 0, IDS, graphs=order).fingerprint() for order in orders}) == 4


@pytest.mark.parametrize(
    ("graphs", "error", "message"),
    [
        (None, ValueError, "graphs lists what takes turns, such as"),
        ([], ValueError, "graphs lists what takes turns"),
        ([{"rounds": 3}], ValueError, "entry 1 of graphs does not say which graph"),
        ([{"of": "ring", "round": 3}], ValueError, "did you mean 'rounds'"),
        ([{"of": "ring", "rounds": 0}], ValueError, "at least 1, not 0"),
        ([{"of": "ring", "rounds": 1.5}], ValueError, "whole number of at least 1, not 1.5"),
        ([{"of": "rnig"}], ConfigError, "did you mean 'ring'"),
    ],
)
def test_bad_turns(graphs: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        periodic(5, 0, IDS, graphs=graphs)
