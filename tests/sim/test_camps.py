"""Whole federations: a backdoor that heading and record let in is kept out by camps, and nobody honest is."""

from __future__ import annotations

from pathlib import Path

import pytest

from surefed.sim import Experiment, run

BASE = {
    "rounds": 300,
    "data": {"clients": 14},
    "model": {"name": "mlp"},
    "attack": {"name": "trojan", "malicious": 0.43},
    "evaluate": {"every": 100},
}


def test_a_backdoor_is_kept_out(tmp_path: Path) -> None:
    ours = run(Experiment.of(BASE), out=tmp_path / "ours").record.last
    without = run(Experiment.of(BASE).change(["rule.camps=0"]), out=tmp_path / "without").record.last
    assert ours["trusted"]["honest"] == without["trusted"]["honest"] == 1.0
    assert ours["trusted"]["malicious"] <= 0.1 < 0.5 < without["trusted"]["malicious"]
    assert ours["backdoor"]["mean"] < 0.1 < 0.4 < without["backdoor"]["mean"]
    assert ours["accuracy"]["mean"] > without["accuracy"]["mean"]


@pytest.mark.parametrize("data", [{}, {"partition": "dirichlet", "partition_options": {"alpha": 0.5}}])
def test_nobody_parts_where_nobody_lies(tmp_path: Path, data: dict[str, object]) -> None:
    plan = Experiment.of({**BASE, "data": {"clients": 14, **data}}).change(["attack.name=none"])
    ours = run(plan, out=tmp_path / "ours").record.last
    without = run(plan.change(["rule.camps=0"]), out=tmp_path / "without").record.last
    assert ours["trusted"]["honest"] == without["trusted"]["honest"]
    assert ours["accuracy"] == without["accuracy"]
