"""What every graph promises, each in a few forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from surefed.graphs import GRAPHS, Graph, named, neighbours

CLIENTS = 12
IDS = tuple(f"site {at}" for at in range(CLIENTS))
RING = [[at, (at + 1) % CLIENTS] for at in range(CLIENTS)]
FORMS: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in GRAPHS}
FORMS |= {
    "periodic": ("periodic", {"graphs": [{"of": "erdos_renyi", "rounds": 3}, {"of": "erdos_renyi"}, {"of": "churn"}]}),
    "fast": ("time_varying", {"every": 2, "of": "regular"}),
    "fast churn": ("churn", {"leave": 0.5, "come_back": 0.5, "of": "time_varying", "of_options": {"every": 3}}),
    "scheduled": ("churn", {"away": {"site 3": [[1, 4], [8, 9]]}, "of": "grid"}),
    "dropped twice": ("drop_edges", {"of": "drop_edges", "of_options": {"of": "small_world"}}),
    "dropped while changing": ("drop_edges", {"of": "periodic", "of_options": {"graphs": [{"of": "churn"}]}}),
}
RANDOM = ["regular", "erdos_renyi", "small_world", "scale_free", "periodic", "fast", "fast churn", "dropped twice"]


@pytest.fixture(autouse=True)
def ring_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "ring.npy", np.array(RING))
    monkeypatch.setitem(FORMS, "file", ("file", {"path": str(tmp_path / "ring.npy")}))


def made(form: str, seed: int = 0) -> Graph:
    name, given = FORMS[form]
    return named(name, given, clients=CLIENTS, seed=seed, ids=IDS)


@pytest.mark.parametrize("form", FORMS)
def test_everybody_hears_itself_in_both_forms(form: str) -> None:
    graph = made(form)
    assert graph.clients == CLIENTS
    for round in range(12):
        edges, sparse = graph.edges(round), neighbours(graph, round)
        assert edges.dtype == torch.bool
        assert edges.shape == (CLIENTS, CLIENTS)
        assert edges.diagonal().all()
        assert torch.equal(sparse.dense(), edges)
        assert sparse.senders.dtype == sparse.starts.dtype == torch.int64


@pytest.mark.parametrize("form", FORMS)
def test_all_but_directed_files_are_symmetric(form: str) -> None:
    graph = made(form)
    assert all(torch.equal(graph.edges(round), graph.edges(round).T) for round in range(12))


@pytest.mark.parametrize("form", FORMS)
def test_rounds_may_be_asked_for_in_any_order(form: str) -> None:
    """What a resumed run sees: a new graph, asked for a late round first."""
    forwards = made(form)
    seen = [forwards.edges(round).clone() for round in range(300)]
    other = made(form)
    for round in [299, 3, 298, 3, 4, 0, 150, 149, 1, 256, 257, 255]:
        assert torch.equal(other.edges(round), seen[round])
        assert torch.equal(neighbours(other, round).dense(), seen[round])


@pytest.mark.parametrize("form", FORMS)
def test_the_present_graph_is_kept(form: str) -> None:
    graph = made(form)
    for round in (0, 1, 5):
        assert graph.edges(round) is graph.edges(round)
        assert neighbours(graph, round) is neighbours(graph, round)


@pytest.mark.parametrize("form", FORMS)
def test_equal_seeds_equal_graphs_and_digests(form: str) -> None:
    one, again, other = made(form), made(form), made(form, seed=1)
    again.edges(200)  # what was looked at does not show
    assert one.fingerprint() == again.fingerprint()
    differ = any(not torch.equal(one.edges(round), other.edges(round)) for round in range(300))
    assert differ or form not in RANDOM
    if differ:
        assert one.fingerprint() != other.fingerprint()


def test_digests_differ_wherever_graphs_do() -> None:
    digests = {form: made(form).fingerprint() for form in FORMS if form != "file"}
    assert len(set(digests.values())) == len(digests)
    assert made("file").fingerprint() == made("ring").fingerprint()
