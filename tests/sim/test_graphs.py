"""Graphs that change, in a run: each round has its own edges, and a resumed run goes on with the same ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import surefed
from surefed.core import Interrupted
from surefed.sim import Experiment, run

GRAPHS: dict[str, dict[str, Any]] = {
    "time_varying": {"name": "time_varying", "every": 2, "share": 0.4},
    "periodic": {"name": "periodic", "graphs": [{"of": "ring", "rounds": 2}, {"of": "star"}]},
    "churn": {"name": "churn", "leave": 0.3, "come_back": 0.4},
}


def experiment(graph: dict[str, Any], **more: Any) -> Experiment:
    plan = {"rounds": 6, "checkpoint_every": 1, "data": {"clients": 6}, "model": {"name": "linear"}}
    return Experiment.of({**plan, "evaluate": {"every": 1}, "graph": graph, **more})


@pytest.mark.parametrize("name", GRAPHS)
def test_each_round_has_its_own_edges_and_resuming_changes_nothing(tmp_path: Path, name: str) -> None:
    def stop(done: int, figures: object) -> None:
        if done == 3:
            raise Interrupted("enough", exit_code=130)

    plan = experiment(GRAPHS[name])
    whole = run(plan, out=tmp_path / "whole")
    seen = [surefed.read(whole.folder).trust(done)["edges"] for done in range(1, 7)]
    assert len({edges.tobytes() for edges in seen}) > 1
    assert all((edges == whole.setup.graph.edges(at).numpy()).all() for at, edges in enumerate(seen))
    with pytest.raises(Interrupted):
        run(plan, out=tmp_path / "parts", watch=stop)
    parts = run(plan, out=tmp_path / "parts", resume=True)
    assert torch.equal(parts.beliefs.mean, whole.beliefs.mean)
    assert torch.equal(parts.beliefs.rho, whole.beliefs.rho)
    assert (parts.folder / "rounds.jsonl").read_bytes() == (whole.folder / "rounds.jsonl").read_bytes()


def test_an_absent_client_goes_on_learning_alone(tmp_path: Path) -> None:
    """Client 1 is away all the time: it ends where it would have ended alone, and nobody has heard it."""
    away = {"name": "churn", "away": {"1": [[0, 9]]}}
    apart = run(experiment(away, rule={"name": "bayp2pfl"}), out=tmp_path / "apart").beliefs
    alone = run(experiment({"name": "complete"}, rule={"name": "local_only"}), out=tmp_path / "alone").beliefs
    assert torch.allclose(apart.mean[1], alone.mean[1], atol=1e-6)
    assert not torch.allclose(apart.mean[0], alone.mean[0], atol=1e-3)
    assert torch.allclose(apart.mean[0], apart.mean[2], atol=1e-6)  # the others pool with each other
