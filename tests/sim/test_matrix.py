"""Every rule under every attack, where it hurts: defined behaviour everywhere, no NaN, no crash."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from surefed.attacks import ATTACKS
from surefed.data import DATASETS, Federation, federation
from surefed.rules import RULES
from surefed.sim import Experiment
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round
from surefed.sim.metrics import evaluate

CLIENTS, ROUNDS = 10, 3


def data() -> Federation:
    digits = DATASETS["digits"]()
    wide = np.pad(digits.inputs, ((0, 0), (0, 0), (1, 1), (1, 1)))  # 10 x 10, so that every trigger fits
    parts = [(wide[at::CLIENTS][:20], digits.labels[at::CLIENTS][:20]) for at in range(CLIENTS)]
    return federation(parts, (wide[:50], digits.labels[:50]), classes=10)


def lonely() -> nx.DiGraph:
    """Client 0 hears nobody, client 1 hears only clients 8 and 9, the rest a few."""
    graph = nx.DiGraph([(at, (at + step) % CLIENTS) for at in range(2, CLIENTS) for step in (1, 2, 3)])
    graph.add_nodes_from(range(CLIENTS))
    graph.remove_edges_from([edge for edge in graph.edges if edge[1] in (0, 1)])
    graph.add_edges_from([(8, 1), (9, 1)])
    ordered = nx.DiGraph()
    ordered.add_nodes_from(range(CLIENTS))
    ordered.add_edges_from(graph.edges)
    return ordered


WORLDS = {
    "complete": (nx.complete_graph(CLIENTS), {"malicious": 0.4}),
    "lonely, liars all around client 1": (lonely(), {"clients": ["8", "9", "4"]}),
    "nine of ten malicious": (nx.complete_graph(CLIENTS), {"malicious": 0.9}),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("rule", [*RULES, "surefed, auto", "krum, nnm", "trimmed_mean, bucketing"])
def test_every_pair_is_defined_everywhere(rule: str, world: str) -> None:
    graph, who = WORLDS[world]
    name, _, more = rule.partition(", ")
    named = {"name": name} | ({"kappa": more} if more == "auto" else {"before": more} if more else {})
    given = data()
    for attack in ATTACKS:
        for knowledge in ("omniscient", "own_data"):
            experiment = Experiment.of(
                {
                    "rounds": ROUNDS,
                    "model": {"name": "linear"},
                    "learn": {"batches": 1},
                    "rule": named,
                    "attack": {"name": attack, "knowledge": knowledge, **who},
                }
            )
            setup = assemble(experiment, data=given, graph=graph)
            now = begin(setup)
            for _ in range(ROUNDS):
                inspection = play_round(setup, now)
                assert not (inspection.trusted & ~setup.graph.edges(0)).any(), (attack, knowledge)
            honest = now.rows.belief(slice(0, CLIENTS))[~setup.malicious]
            assert torch.isfinite(honest.mean).all(), (attack, knowledge)
            assert torch.isfinite(honest.rho).all(), (attack, knowledge)
            assert evaluate(setup, now, inspection).figures["accuracy"]["mean"] is not None
