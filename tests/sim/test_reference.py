"""The batched engine against the slow, plain reference: same beliefs, same decisions."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from surefed.core import pushes
from surefed.data import Federation, federation
from surefed.sim import Experiment
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, local, play_round, social
from surefed.sim.setup import Setup

from .reference import Client, Model, Reference

LATER = 60
"""Rounds until half of those that were cleared push back, and until those that lie late are found out."""
ROUNDS, RATE, RECORD = 20, 0.02, {"against": 0.05, "ahead": 0.15, "adrift": 0.01}


def data() -> Federation:
    """Seven clients of different sizes, some smaller than a round of minibatches; three classes in five dimensions."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 5)) * 1.5

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.arange(count) % 3
        return (centres[labels] + rng.normal(size=(count, 5))).astype(np.float32), labels

    return federation([draw(count) for count in (9, 30, 14, 21, 12, 18, 25)], draw(40), ids=list("gfedcba"))


def ring_with_chords() -> nx.DiGraph:
    """Directed, not complete, and not symmetric."""
    return nx.DiGraph([(at, (at + step) % 7) for at in range(7) for step in (1, 2, 3) if (at + step) % 4 != 1])


def build(
    attack: dict[str, object], kappa: float, heading: float | None, record: dict[str, float] = RECORD
) -> tuple[Setup, Reference]:
    experiment = Experiment.of(
        {
            "seed": 5,
            "rounds": LATER,
            "model": {"name": "mlp", "hidden": [4]},
            "learn": {"batches": 3, "batch_size": 4, "learning_rate": RATE},
            "rule": {"name": "surefed", "kappa": kappa, "std_floor": 0.0, "std_ceiling": 0.0}
            | ({"heading": "off"} if heading is None else {"heading": heading, **record}),
            "attack": {"malicious": 0.4, **attack},
        }
    )
    setup = assemble(experiment, data=data(), graph=ring_with_chords())
    mean, learn = setup.network.initial(), setup.experiment.learn
    clients = []
    for at, name in enumerate(setup.clean.ids):
        mine = slice(int(setup.clean.starts[at]), int(setup.clean.starts[at] + setup.clean.sizes[at]))
        bad = bool(setup.malicious[at])
        labels = setup.clean.labels[mine]
        seen = 2 - labels if bad and attack["name"] == "label_flip" else labels
        models = [Model.start(mean, learn.rho, RATE) for _ in range(2)]
        clients.append(Client(name, setup.clean.inputs[mine], seen, bad, *models))
    graph = ring_with_chords()
    edges = torch.eye(7, dtype=torch.bool)
    order = list(graph.nodes)
    for sender, receiver in graph.edges:
        edges[order.index(receiver), order.index(sender)] = True
    noise = float(attack.get("scale", 1.0)) if attack["name"] == "gaussian" else 0.0  # type: ignore[arg-type]
    return setup, Reference(
        setup.network.module,
        clients,
        edges,
        5,
        kappa,
        3,
        4,
        noise,
        heading,
        start=mean,
        flips=int(str(attack.get("start", 0))) if attack["name"] == "sign_flip" else None,
        **record,
    )


def together(setup: Setup, slow: Reference, rounds: int) -> int:
    """Play both, and see that they are the same; how often a neighbour was trusted."""
    world = begin(setup)
    accepted = 0
    for round in range(rounds):
        inspection = play_round(setup, world)
        sets = slow.play(round)
        assert [set(row.nonzero().flatten().tolist()) for row in inspection.trusted] == sets, f"round {round}"
        accepted += sum(len(trusted - {at}) for at, trusted in enumerate(sets))
        for kind, fast in (("social", social(setup, world)), ("local", local(setup, world))):
            assert fast is not None
            for at, client in enumerate(slow.clients):
                model: Model = getattr(client, kind)
                assert torch.allclose(fast.mean[at], model.mean, atol=1e-5), (round, kind, client.name)
                assert torch.allclose(fast.rho[at], model.rho, atol=1e-5), (round, kind, client.name)
    return accepted


@pytest.mark.parametrize(("kappa", "heading"), [(1.0, None), (6.0, 0.6)], ids=["paper's rule", "with headings"])
@pytest.mark.parametrize(
    "attack",
    [{"name": "label_flip"}, {"name": "gaussian", "scale": 2.0}, {"name": "sign_flip"}, {"name": "none"}],
)
def test_the_engine_equals_the_papers_algorithm(
    attack: dict[str, object], kappa: float, heading: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, soon in {
        "SOON": 0.03,
        "ENOUGH": 0.05,
        "LONG": 0.1,
        "FULL": 0.2,
        "CHANCE": 0.2,
        "FAR": 1.0,
    }.items():  # verdicts within a few rounds
        monkeypatch.setattr(pushes, name, soon)
    setup, slow = build(attack, kappa, heading)
    accepted = together(setup, slow, ROUNDS if attack["name"] != "gaussian" else LATER)
    assert (slow.rejected if heading is None else slow.turned) > 20, "the test must see rejections"
    assert slow.overwritten > 2 or heading is not None, "the test must see overwrites"
    assert accepted > 5, "the test must see neighbours being trusted"
    if heading is not None:
        verdicts = [verdict for felt in slow.records.values() for verdict in felt.verdict.values()]
        assert verdicts.count("cleared") > 2, "the test must see senders that are cleared"
        assert "ahead" in verdicts, "the test must see senders that are far ahead"
        assert slow.out > 3 or attack["name"] != "sign_flip", "the test must see senders that are not heard any more"
        assert slow.idle > 0 or attack["name"] != "gaussian", "the test must see senders that are not cleared in time"
        assert slow.long > 0, "the test must see pushes that count more than once"
        assert slow.elsewhere > 0 or attack["name"] != "gaussian", "the test must see courses that are not shared"
    assert int(setup.malicious.sum()) == (0 if attack["name"] == "none" else 3)
    assert not setup.graph.edges(0).all()


def test_the_engine_finds_who_begins_to_lie_late_as_the_reference_does(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, soon in {"LONG": 0.1, "FULL": 0.2, "CHANCE": 0.2}.items():
        monkeypatch.setattr(pushes, name, soon)
    sleepers: dict[str, object] = {"name": "sign_flip", "start": 30, "malicious": 0.8}
    setup, slow = build(sleepers, 30.0, 0.0, {"against": 0.0, "ahead": 0.0, "adrift": 0.01})
    together(setup, slow, LATER)
    assert slow.dragged > 3, "the test must see senders that drag others against their pull"
    assert slow.turncoats > 0, "the test must see some of them cleared before"
