from __future__ import annotations

from pathlib import Path

import pytest

from surefed.dashboard import library
from surefed.dashboard.library import Library
from tests.dashboard.records import begin, parted


def test_runs_are_found_in_and_below_the_folders_given(tmp_path: Path) -> None:
    begin(tmp_path / "a" / "b" / "one")
    begin(tmp_path / "a" / ".hidden")
    begin(tmp_path / "two")
    begin(tmp_path / "two" / "inside")  # a run's own folder is not looked into
    (tmp_path / "a" / "empty").mkdir()
    found = Library([tmp_path / "a", tmp_path / "two", tmp_path / "missing"]).found()
    assert set(found.runs) == {"a/b/one", "two"}


def test_folders_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    begin(tmp_path / "x" / "runs" / "one")
    begin(tmp_path / "y" / "runs" / "one")
    paths = [tmp_path / "x" / "runs", tmp_path / "y" / "runs", tmp_path / "x" / "runs"]
    found = Library(paths).found()
    assert set(found.runs) == {"runs/one", "runs-2/one"}
    assert found.runs["runs-2/one"].path == tmp_path / "y" / "runs" / "one"


def test_runs_come_and_go(tmp_path: Path) -> None:
    now = 0.0
    shelf = Library([tmp_path], clock=lambda: now)
    assert shelf.found().runs == {}
    made = begin(tmp_path / "one")
    assert shelf.found().runs == {}  # looked a moment ago
    now = 10.0
    (id,) = shelf.found().runs
    before = shelf.stamps()[id]
    assert shelf.stamps()[id] == before
    made.round({"round": 1}, {"round": 1})
    assert shelf.stamps()[id] != before
    for file in made.path.iterdir():
        file.unlink()
    now = 20.0
    assert shelf.found().runs == {}


def test_a_planned_sweep_changes_with_its_cells(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text('{"cells": []}')
    shelf = Library([tmp_path])
    before = shelf.stamps()
    assert set(before) == {f"{tmp_path.name}/"}
    (tmp_path / "cells.csv").write_text("cell\n")
    assert shelf.stamps() != before


def test_a_folder_with_too_many_runs_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "MOST", 2)
    for name in "abc":
        begin(tmp_path / name)
    found = Library([tmp_path]).found()
    assert len(found.runs) == 2
    assert found.cut


def test_a_run_without_news_counts_as_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(tmp_path / "new")
    run = parted(tmp_path / "one")
    (run.path / "result.json").unlink()
    runs = Library([tmp_path]).found().runs
    assert runs[f"{tmp_path.name}/new"].status() == "waiting"
    assert runs[f"{tmp_path.name}/one"].status() == "running"
    monkeypatch.setattr("surefed.dashboard.run.QUIET", -1.0)
    assert runs[f"{tmp_path.name}/one"].status() == "stopped"
