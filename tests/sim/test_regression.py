"""Labels that are numbers, from a file to a figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import surefed
from surefed.core import ConfigError, DataError
from surefed.data import Dataset, cut, federation
from surefed.sim import Experiment, run

from ..cli.test_cli import call

PLAN = """\
name = "houses"
rounds = 40
data = { name = "table", path = "houses.csv", label = "price", client = "site", numbers = true }
model = { name = "linear" }
learn = { learning_rate = 0.03, noise = "learned" }
rule = { name = "bayp2pfl" }
evaluate = { every = 20 }
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """price = 2 size - age, with a noise of std 0.1, at four sites."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [
        f"{site},{x:.4f},{y:.4f},{2 * x - y + 0.1 * rng.normal():.4f}"
        for site in "abcd"
        for x, y in rng.normal(size=(40, 2))
    ]
    (tmp_path / "houses.csv").write_text("\n".join(["site,size,age,price", *rows]))
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def test_from_a_table_to_a_figure(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", "plan.toml", "--out", "run") == 0
    said = capsys.readouterr()
    assert "round 40/40: R2 " in said.err
    assert " R2 " in said.out
    last = surefed.read("run").last
    assert last["r2"]["mean"] > 0.8
    assert last["r2"]["worst"] <= last["r2"]["mean"]
    assert last["rmse"]["worst"] >= last["rmse"]["mean"]
    assert "accuracy" not in last
    assert set(surefed.read("run").trust(40)) >= {"rmse", "r2"}
    assert (here / "run" / "figure.png").stat().st_size > 10_000
    assert call("show", "run", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)[0]["r2"] == last["r2"]["mean"]
    with pytest.raises(AttributeError, match="rmse and r2"):
        _ = run(Experiment.read("plan.toml"), out="run").accuracy


def test_a_matrix_of_rules(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--rules", "fedavg,local_only", "--attacks", "none,sign_flip", "--set", "rounds=2", "--out", "matrix"]
    assert call("compare", "plan.toml", *words) == 0
    assert "R2 of honest clients in %" in capsys.readouterr().out


def test_who_has_what(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("data", "describe", "plan.toml") == 0
    said = capsys.readouterr().out
    assert "labels     numbers from -" in said
    assert "32.0 a client on average (32 to 32); 128 in all" in said
    assert call("data", "describe", "plan.toml", "--figure", "labels.png") == 2
    assert "no classes to draw" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "code", "message"),
    [
        (
            "data.numbers=false",
            3,
            "is no whole number; labels are 0, 1, 2, ... or names, not both; if they are numbers",
        ),
        ("data.label=site", 3, "houses.csv, row 2, column 'site': 'a' is not a number"),
        ("attack.name=label_flip", 2, "the labels of this data are numbers; choose an attack on what is sent"),
        ("data.partition=shards", 3, "'shards' deals out classes, and these labels are numbers; use iid or by_size"),
    ],
)
def test_what_does_not_fit_is_told(
    here: Path, capsys: pytest.CaptureFixture[str], setting: str, code: int, message: str
) -> None:
    assert call("run", "plan.toml", "--set", setting) == code
    assert message in capsys.readouterr().err


def several(count: int) -> Any:
    rng = np.random.default_rng(count)
    inputs = rng.normal(size=(count, 3))
    return inputs, inputs @ np.array([[1.0, 0.0], [0.0, -2.0], [0.5, 0.5]])


def test_several_targets_and_given_data(tmp_path: Path) -> None:
    data = federation([several(30) for _ in range(3)], several(50), classes=0)
    assert data.labels.dtype == torch.float32
    assert tuple(data.test_labels.shape) == (50, 2)
    plan = {"rounds": 150, "model": {"name": "linear"}, "rule": {"name": "fedavg"}, "learn": {"noise": 0.5}}
    made = run(Experiment.of(plan), data=data, out=tmp_path / "run")
    assert made.record.last["r2"]["mean"] > 0.99
    assert isinstance(made.model(0), nn.Module)
    assert tuple(made.model(0)(data.test_inputs).shape) == (50, 2)


def test_numbers_that_are_none() -> None:
    inputs = np.zeros((3, 2))
    with pytest.raises(DataError, match="client 0: sample 1 has the label nan"):
        federation([(inputs, [0.5, np.nan, 1.0])], (inputs, [0.1, 0.2, 0.3]), classes=0)
    with pytest.raises(DataError, match="as many numbers in each"):
        federation([(inputs, np.zeros((3, 2)))], (inputs, np.zeros(3)), classes=0)
    with pytest.raises(DataError, match=r"set data\.numbers = true, or classes = 0 in Python"):
        federation([(inputs, [0.5, 0.1, 1.0])], (inputs, [0.1, 0.2, 0.3]))
    with pytest.raises(DataError, match="labels must be numbers, one or several a sample"):
        cut(Dataset(inputs, np.array(["a", "b", "c"]), 0), 1)


def test_data_is_dealt_out_with_its_numbers() -> None:
    dataset = Dataset(np.arange(20.0).reshape(20, 1), np.arange(20.0) / 4, 0)
    made = cut(dataset, 4, partition="iid", seed=1)
    assert torch.equal(made.labels, made.inputs[:, 0] / 4)
    assert (made.classes, made.labels.dtype) == (0, torch.float32)


def test_a_poisonous_attack_needs_classes() -> None:
    data = federation([several(30) for _ in range(3)], several(50), classes=0)
    with pytest.raises(ConfigError, match="'trojan' changes classes"):
        run(Experiment.of({"attack": {"name": "trojan"}, "model": {"name": "linear"}}), data=data)
