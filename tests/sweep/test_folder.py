from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import surefed
from surefed.core import ConfigError, RecordError
from surefed.records import alone
from surefed.sweep import read_sweep, run_sweep
from surefed.sweep.folder import FIGURES, OTHERS, Folder, known

from .conftest import Inline, Write

VARIED = """
rule.kappa = [4, "auto"]
attack.name = ["trojan", "none"]
"""


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "cells.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def done(write: Write, tmp_path: Path, inline: Callable[..., Inline]) -> Path:
    inline()
    run_sweep(read_sweep(write(VARIED)), tmp_path / "out")
    return tmp_path / "out"


def test_the_table_says_of_every_cell_what_its_record_says(done: Path) -> None:
    table = rows(done)
    assert [row["cell"] for row in table] == ["kappa=4-trojan", "kappa=auto-trojan", "kappa=4-none", "kappa=auto-none"]
    for row in table:
        record = surefed.read(done / row["folder"])
        assert record.result is not None
        final = record.result["final"]
        assert (row["status"], row["quick"], row["error"]) == ("finished", "false", "")
        assert float(row["accuracy"]) == final["accuracy"]["mean"]
        assert float(row["worst"]) == final["accuracy"]["worst"]
        assert float(row["trusts_honest"]) == final["trusted"]["honest"]
        assert (row["round"], row["rounds"], row["seed"], row["clients"]) == ("4", "4", "0", "4")
        assert float(row["seconds"]) == pytest.approx(record.result["seconds"], abs=1e-3)
        assert row["malicious"] == str(len(record.run["malicious"]))
        assert row["rule.kappa"] == str(record.experiment["rule"]["kappa"])
        assert row["data.name"] == "digits"
    trojan, clean = table[0], table[2]
    assert float(trojan["backdoor"]) >= 0
    assert (clean["backdoor"], clean["attack.malicious"], trojan["attack.malicious"]) == ("", "0.0", "0.4")


def test_parquet_holds_the_same_with_numbers_as_numbers(done: Path) -> None:
    table, written = pyarrow.parquet.read_table(done / "cells.parquet").to_pylist(), rows(done)
    assert [row["accuracy"] for row in table] == [float(row["accuracy"]) for row in written]
    assert [row["rule.kappa"] for row in table] == ["4", "auto", "4", "auto"]  # of two kinds, so text
    assert [row["quick"] for row in table] == [False] * 4


def test_the_grid_is_written_with_what_cells_share_and_what_tells_them_apart(done: Path) -> None:
    grid = json.loads((done / "sweep.json").read_text())
    assert (grid["name"], grid["quick"], grid["keys"]) == ("small", False, ["rule.kappa", "attack.name"])
    assert grid["common"]["data.clients"] == 4
    for cell in grid["cells"]:
        whole = {**grid["common"], **cell["values"]}
        experiment = surefed.read(done / cell["name"]).experiment
        assert whole["rule.kappa"] == experiment["rule"]["kappa"]
        assert whole["learn.rho"] == experiment["learn"]["rho"]
    (session,) = grid["sessions"]
    assert {"surefed", "torch", "numpy", "python"} == set(session["versions"])
    assert session["device"] == "cpu"


def test_finished_cells_keep_their_record_and_their_beliefs_only_on_request(
    done: Path, write: Write, tmp_path: Path
) -> None:
    assert (done / "kappa=4-none" / "rounds.jsonl").exists()
    assert not list(done.glob("*/checkpoint.safetensors"))
    kept = tmp_path / "kept"
    run_sweep(read_sweep(write("keep_beliefs = true\nseed = [3]\n")), kept)
    assert (kept / "s3" / "checkpoint.safetensors").exists()
    run_sweep(read_sweep(write("seed = [3]\n")), kept)
    assert not (kept / "s3" / "checkpoint.safetensors").exists()


def test_a_cell_keeps_its_folder_when_the_file_calls_it_otherwise(
    write: Write, tmp_path: Path, inline: Callable[..., Inline]
) -> None:
    out, backend = tmp_path / "out", inline()
    run_sweep(read_sweep(write("rule.kappa = [4]\n")), out)
    run_sweep(read_sweep(write("rule.kappa = [4, 8]\nseed = [0, 1]\n")), out)
    assert backend.started == ["kappa=4", "kappa=8-s0", "kappa=4-s1", "kappa=8-s1"]
    assert [row["cell"] for row in rows(out)] == ["kappa=4", "kappa=8-s0", "kappa=4-s1", "kappa=8-s1"]
    assert len(json.loads((out / "sweep.json").read_text())["sessions"]) == 2


def test_another_experiment_in_a_cells_place_is_refused_before_anything_is_written(done: Path, write: Write) -> None:
    before = (done / "sweep.json").read_bytes()
    with pytest.raises(RecordError, match="rounds is 4 there and 5 here; choose another --out"):
        run_sweep(read_sweep(write(VARIED), settings=["rounds=5"]), done)
    assert (done / "sweep.json").read_bytes() == before


def test_folders_that_are_no_sweeps_are_refused(done: Path, write: Write, tmp_path: Path) -> None:
    sweep = read_sweep(write(VARIED))
    with pytest.raises(RecordError, match="is a file"):
        run_sweep(sweep, tmp_path / "sweep.toml")
    with pytest.raises(RecordError, match="folder of a single run"):
        run_sweep(sweep, done / "kappa=4-none")
    (done / "sweep.json").write_text("{")
    with pytest.raises(RecordError, match=r"sweep.json is damaged .*delete it, the cells stay"):
        Folder(done, sweep)
    (done / "sweep.json").write_text("[]")
    with pytest.raises(RecordError, match="not a sweep that this version reads"):
        known(done)


def test_a_label_may_not_take_the_place_of_a_column(write: Write, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the table has a column 'accuracy' of its own"):
        Folder(tmp_path, read_sweep(write("label.accuracy = 'high'\n")))


def test_the_columns_are_those_that_are_named(done: Path, tmp_path: Path) -> None:
    has = set(rows(done)[0]) - {"data.name", "rule.name", "attack.name", "attack.malicious", "graph.name", "rule.kappa"}
    assert has == {*FIGURES, *OTHERS}


def test_a_sweep_is_not_driven_twice_at_once(done: Path, write: Write) -> None:
    with alone(done), pytest.raises(RecordError, match="another process"):
        run_sweep(read_sweep(write(VARIED)), done)


def test_numbers_as_labels_give_r2_instead_of_accuracy(
    write: Write, tmp_path: Path, inline: Callable[..., Inline]
) -> None:
    inline()
    (tmp_path / "samples.csv").write_text("x,y\n" + "".join(f"{at / 100},{at / 50}\n" for at in range(100)))
    data = f'data = {{ name = "table", path = "{tmp_path}/samples.csv", label = "y", numbers = true, clients = 4 }}\n'
    board = run_sweep(
        read_sweep(write('model.name = "linear"\n' + data + "rounds = [2]\n", small="")), tmp_path / "out"
    )
    (row,) = (board.folder.row(cell) for cell in board.folder.sweep.cells)
    made: dict[str, Any] = surefed.read(tmp_path / "out" / row["cell"]).last
    assert (row["r2"], row["worst"], row["accuracy"]) == (made["r2"]["mean"], made["r2"]["worst"], None)
