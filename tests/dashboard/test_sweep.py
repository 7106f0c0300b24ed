from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from surefed.dashboard.library import Library
from surefed.dashboard.sweep import matrix, sheet
from tests.dashboard.records import begin, parted, play


def told(folder: Path) -> dict[str, Any]:
    group = Library([folder]).found().sweeps()[folder.name]
    return matrix(group.path, group.runs)


def cell(table: dict[str, Any], rule: str, attack: str) -> dict[str, Any]:
    (found,) = (one for one in table["cells"] if (one["rule"], one["attack"]) == (rule, attack))
    return dict(found)


def test_a_folder_of_runs_is_a_matrix(tmp_path: Path) -> None:
    for rule in ("surefed", "krum"):
        parted(tmp_path / f"{rule}-none", rule=rule, attack="none")
        parted(tmp_path / f"{rule}-alie", rule=rule, attack="alie")
    table = told(tmp_path)
    assert table["attacks"] == ["none", "alie"]  # no attack comes first
    assert set(table["rules"]) == {"surefed", "krum"}
    assert (table["finished"], table["runs"]) == (4, 4)
    assert cell(table, "krum", "alie")["mean"] == 0.9


def test_seeds_are_averaged_and_running_cells_show_how_far_they_are(tmp_path: Path) -> None:
    parted(tmp_path / "a", seed=0)
    made = begin(tmp_path / "b", seed=1, rounds=40)
    play(made, 20, 0.5, apart=False)
    one = cell(told(tmp_path), "surefed", "label_flip")
    assert one["mean"] == 0.9  # of the finished one
    assert (one["finished"], one["planned"]) == (1, 2)
    assert one["progress"] == pytest.approx((40 + 20) / 80)
    made.finish({"rounds": 20})
    assert cell(told(tmp_path), "surefed", "label_flip")["mean"] == pytest.approx((0.9 + 0.5) / 2)


def test_runs_that_differ_otherwise_have_rows_of_their_own(tmp_path: Path) -> None:
    parted(tmp_path / "a", kappa=4.0)
    parted(tmp_path / "b", kappa=16.0)
    parted(tmp_path / "c", rule="krum")
    assert set(told(tmp_path)["rules"]) == {"surefed kappa=4.0", "surefed kappa=16.0", "krum"}


def test_a_planned_sweep_shows_what_waits_and_what_failed(tmp_path: Path) -> None:
    names = ["surefed-alie-s0", "krum-alie-s0", "krum-none-s0"]
    plan = [
        {
            "name": name,
            "labels": {"method": f"our {name.split('-')[0]}"},
            "values": {"rule.name": name.split("-")[0], "attack.name": name.split("-")[1], "seed": 0},
        }
        for name in names
    ]
    (tmp_path / "sweep.json").write_text(json.dumps({"title": "A plan", "common": {"rounds": 40}, "cells": plan}))
    assert told(tmp_path)["runs"] == 3  # before anything has begun
    parted(tmp_path / names[0], attack="alie")
    (tmp_path / "errors").mkdir()
    (tmp_path / "errors" / f"{names[1]}.txt").write_text("a long story\nDataError: too few samples\n")
    table = told(tmp_path)
    assert (table["title"], table["finished"], table["failed"], table["runs"]) == ("A plan", 1, 1, 3)
    assert cell(table, "our surefed", "alie")["runs"] == [f"{tmp_path.name}/{names[0]}"]
    assert cell(table, "our krum", "alie")["error"] == "DataError: too few samples"
    waiting = cell(table, "our krum", "none")
    assert (waiting["runs"], waiting["mean"], waiting["failed"]) == ([], None, 0)
    assert len(list(sheet(tmp_path, []))) == 4


@pytest.mark.parametrize("content", ["", "{", "[]", '{"cells": 3}', '{"cells": [3, {"name": 5}, {"name": "../x"}]}'])
def test_a_damaged_plan_leaves_the_runs(tmp_path: Path, content: str) -> None:
    (tmp_path / "sweep.json").write_text(content)
    parted(tmp_path / "a")
    assert cell(told(tmp_path), "surefed", "label_flip")["finished"] == 1


def test_a_damaged_cell_is_left_out(tmp_path: Path) -> None:
    parted(tmp_path / "a")
    parted(tmp_path / "b", rule="krum")
    (tmp_path / "b" / "run.json").write_text("{")
    assert told(tmp_path)["rules"] == ["surefed"]
