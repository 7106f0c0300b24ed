"""The band that measures itself needs no retuning: one c for other learning rates, horizons and widths."""

from __future__ import annotations

from pathlib import Path

import pytest

from surefed.sim import Experiment, run

BASE = {
    "rounds": 800,
    "data": {"clients": 20},
    "model": {"name": "mlp"},
    "rule": {"name": "surefed", "kappa": "auto", "heading": "off", "std_floor": 0.0, "std_ceiling": 0.0},
    "attack": {"name": "label_flip", "malicious": 0.4},
    "evaluate": {"every": 100, "trust": False},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        [],
        ["learn.learning_rate=0.003"],
        ["learn.learning_rate=0.0005", "rounds=1600"],
        ["rounds=400"],
        ["model.hidden=[16]"],
        ["model.hidden=[256]"],
    ],
    ids=lambda changes: " ".join(changes) or "as it is",
)
def test_one_c_separates_the_camps_whatever_else_changes(changes: list[str], tmp_path: Path) -> None:
    last = run(Experiment.of(BASE).change(changes), out=tmp_path / "run").record.last
    alone = run(Experiment.of(BASE).change([*changes, "rule.name=local_only"]), out=tmp_path / "alone").record.last
    assert last["trusted"]["malicious"] <= 0.2
    assert last["trusted"]["honest"] >= 0.5
    assert last["accuracy"]["mean"] > alone["accuracy"]["mean"] + 0.03


@pytest.mark.slow
def test_a_fixed_kappa_has_to_be_found_again_for_another_horizon(tmp_path: Path) -> None:
    short = Experiment.of(BASE).change(["rounds=400", "rule.kappa=16"])
    last = run(short, out=tmp_path / "fixed").record.last
    assert last["trusted"]["malicious"] == 1.0  # the camps have not begun to part
