from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from surefed.cli import describe, main
from surefed.core import DataError
from surefed.data import load
from surefed.sim import Experiment
from surefed.sim.data import dealt


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    for name, count in (("ann", 10), ("bob", 30)):
        np.savez(tmp_path / f"{name}.npz", inputs=np.zeros((count, 2, 3)), labels=np.arange(count) % 2)
    return tmp_path


def call(*words: str) -> int:
    before, sys.argv = sys.argv, ["surefed", "data", "describe", *words]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = before
    return 0


def test_everything_about_a_folder_worked_by_hand(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("folder", "--set", "data.path=.", "--set", "data.test_share=0.1", "--format", "json") == 0
    about = json.loads(capsys.readouterr().out)
    labels = about.pop("labels")
    assert {name: sum(row) for name, row in labels.items()} == {"ann": 9, "bob": 27}
    tested = about.pop("test_labels")
    assert [sum(row) + test for row, test in zip(zip(*labels.values(), strict=True), tested, strict=True)] == [20, 20]
    assert about == {
        "dataset": "folder",
        "partition": "natural",
        "clients": 2,
        "natural_clients": 2,
        "train": {"total": 36, "mean": 18.0, "min": 9, "max": 27},
        "test": {"total": 4, "mean": 2.0, "min": 1, "max": 3},
        "cut": "cut",
        "classes": 2,
        "classes_per_client": {"total": 4, "mean": 2.0, "min": 2, "max": 2},
        "shape": [2, 3],
        "background": 0.0,
        "range": None,
        "bytes": 40 * (6 * 4 + 8),  # six float32 and a label of 8 bytes
    }


def test_for_people_and_as_a_picture(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        call("--partition", "dirichlet", "--clients", "5", "--set", "data.invert=true", "--figure", "labels.png") == 0
    )
    said = capsys.readouterr().out
    assert "5 (dirichlet)" in said
    assert "287.6 a client on average" in said  # 1438 / 5
    assert "359 in all, nobody's own; cut by lot" in said
    assert "1 x 8 x 8, background 1" in said
    assert (here / "labels.png").read_bytes().startswith(b"\x89PNG")


def test_the_background_is_the_one_that_triggers_would_see() -> None:
    for data, background in (({}, 0.0), ({"invert": True}, 1.0), ({"invert": True, "background": 0.5}, 0.5)):
        experiment = Experiment.of({"data": data})
        assert describe.describe_deal(*dealt(experiment), experiment)["background"] == background


def test_an_experiment_file_is_described_as_it_would_be_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "e.toml").write_text('seed = 4\n[data]\nname = "folder"\npath = "."\npartition = "iid"\nclients = 3\n')
    assert call("e.toml", "--format", "json") == 0
    about = json.loads(capsys.readouterr().out)
    assert (about["partition"], about["clients"], about["train"]["total"]) == ("iid", 3, 32)
    assert about["test"] == {"total": 8}
    assert call("e.toml", "--clients", "2", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["clients"] == 2


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("digts",), 2, "there is no dataset 'digts'"),
        (("nowhere.toml",), 2, "there is no file nowhere.toml"),
        (("--partition", "natural"), 3, "does not say whose each sample is"),
        (("--figure", "labels.doc"), 2, "figures are .png, .svg or .pdf files"),
        (("--set", "data.clinets=3"), 2, "did you mean 'clients'"),
    ],
)
def test_mistakes(
    here: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, message: str
) -> None:
    assert call(*words) == code
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "train", "test"),
    [
        # the paper's table: 101 + 12 for digits by writer; the writers here are described in the data's own notes
        (("femnist", "--set", "data.digits_only=true"), 105.0, 11.8),
        (("mnist", "--set", "data.test_share=0.1"), 100.2, 11.1),
        (("femnist",), 147.3, 16.8),
    ],
)
def test_the_averages_of_the_papers_clients(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], train: float, test: float
) -> None:
    try:
        kept = load(words[0])
    except DataError as error:
        pytest.skip(f"no {words[0]} here: {error}")
    if len(kept.owners) not in (272, 836):
        pytest.skip(f"another copy of {words[0]}, with {len(kept.owners)} writers")
    assert call(*words, "--format", "json") == 0
    about = json.loads(capsys.readouterr().out)
    assert (round(about["train"]["mean"], 1), round(about["test"]["mean"], 1)) == (train, test)
