from __future__ import annotations

import numpy as np
import pytest
import torch

from surefed.core import Stream
from surefed.graphs.churn import Chance, churn

IDS = ("a", "b", "c", "d")


def test_the_absent_hear_and_send_nothing_but_to_themselves() -> None:
    graph = churn(4, 0, IDS, away={"b": [(2, 4)], "d": [(3, 5), (7, 8)]})
    absent = {2: [1], 3: [1, 3], 4: [3], 7: [3]}
    for round in range(10):
        expected = torch.ones(4, 4, dtype=torch.bool)
        for client in absent.get(round, []):
            expected[client], expected[:, client] = False, False
            expected[client, client] = True
        assert torch.equal(graph.edges(round), expected), round


def test_it_is_made_of_another_graph() -> None:
    edges = churn(4, 0, IDS, away={"a": [(0, 1)]}, of="ring").edges(0)
    assert edges.int().tolist() == [[1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]


def test_chance_against_a_plain_loop() -> None:
    chance = Chance(5, IDS, 0.3, 0.4)
    for at, name in enumerate(IDS):
        stream, there = Stream(5, "graph/churn", [name]), True
        tickets = [ticket for block in range(3) for ticket in stream.uniform(256, round=block)[0].tolist()]
        for round, ticket in enumerate(tickets):
            assert chance.at(round)[at] == there
            there = ticket >= 0.3 if there else ticket < 0.4


def test_rates_are_what_they_say() -> None:
    chance = Chance(0, [str(at) for at in range(400)], 0.1, 0.3)
    history = np.array([chance.at(round) for round in range(500)])
    before, after = history[:-1], history[1:]
    assert history[0].all()
    assert (~after[before]).mean() == pytest.approx(0.1, abs=0.005)
    assert after[~before].mean() == pytest.approx(0.3, abs=0.01)
    assert history[100:].mean() == pytest.approx(0.3 / (0.1 + 0.3), abs=0.01)  # the chain at rest


def test_nobody_leaves_or_everybody_does() -> None:
    assert churn(4, 0, IDS, leave=0).edges(1000).all()
    gone = churn(4, 0, IDS, leave=1, come_back=0)
    assert gone.edges(0).all()
    assert torch.equal(gone.edges(1), torch.eye(4, dtype=torch.bool))
    flicker = churn(4, 0, IDS, leave=1, come_back=1)
    assert [bool(flicker.edges(round).all()) for round in range(4)] == [True, False, True, False]


def test_luck_follows_the_name_not_the_place() -> None:
    one, other = Chance(0, IDS, 0.5, 0.5), Chance(0, IDS[::-1], 0.5, 0.5)
    assert all((one.at(round) == other.at(round)[::-1]).all() for round in range(50))


def test_digests_know_rates_seed_and_schedule() -> None:
    made = [
        churn(4, 0, IDS),
        churn(4, 1, IDS),
        churn(4, 0, IDS, leave=0.03),
        churn(4, 0, IDS, come_back=0.3),
        churn(4, 0, IDS, of="ring"),
        churn(4, 0, IDS, away={"a": [(0, 1)]}),
        churn(4, 0, IDS, away={"a": [(0, 2)]}),
        churn(4, 0, IDS, away={}),
    ]
    assert len({graph.fingerprint() for graph in made}) == len(made)


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="leave is a probability from 0 to 1, not 2"):
        churn(4, 0, IDS, leave=2)
    with pytest.raises(ValueError, match="come_back is a probability from 0 to 1, not -1"):
        churn(4, 0, IDS, come_back=-1)
    with pytest.raises(ValueError, match="'e', which is no client; known: a, b, c, d"):
        churn(4, 0, IDS, away={"e": [(0, 1)]})
    with pytest.raises(ValueError, match="client a is away from a round to a later one, not from 4 to 4"):
        churn(4, 0, IDS, away={"a": [(4, 4)]})
