from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from surefed.cli import console
from surefed.cli.sweep import progress
from surefed.sweep import Board, read_sweep
from surefed.sweep.board import kind
from surefed.sweep.events import Event
from surefed.sweep.folder import Folder

from ..sweep.conftest import SMALL, Inline
from .test_cli import call, here

__all__ = ["here"]


@pytest.fixture
def file(here: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("surefed.sweep.drive._backend", lambda *given: Inline())
    (here / "grid.toml").write_text(SMALL + 'title = "Two seeds"\nseed = [0, 1]\nquick = { rounds = 2 }\n')
    return "grid.toml"


def test_from_a_file_to_a_table(file: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("sweep", file) == 0
    said = capsys.readouterr()
    assert "Two seeds" in said.out
    assert "runs/small/cells.csv" in said.out
    assert "s1: finished in" in said.err
    assert "2 of 2 cells finished" in said.err
    assert (here / "runs" / "small" / "s0" / "result.json").exists()


def test_json_is_json_and_nothing_else(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("sweep", file, "--format", "json", "--out", "out") == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert [cell["status"] for cell in json.loads(said.out)["cells"]] == ["finished", "finished"]
    assert call("sweep", file, "--format", "json", "--out", "out", "--dry-run") == 0
    assert json.loads(capsys.readouterr().out)["estimate"] == "nothing is left to do"


def test_a_dry_run_names_the_cells_and_what_they_cost_and_writes_nothing(
    file: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("sweep", file, "--dry-run", "--workers", "2") == 0
    said = capsys.readouterr().out
    assert [line.split() for line in said.splitlines()[1:3]] == [["s0", "waiting"], ["s1", "waiting"]]
    assert "2 cells of 8 rounds in all, 2 at a time: about 0 s, if all cells cost what s0 costs" in said
    assert not (here / "runs").exists()


def test_quick_is_said_everywhere(file: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("sweep", file, "--quick") == 0
    folder = here / "runs" / "small-quick"
    assert "quick: Two seeds" in capsys.readouterr().out
    assert (folder / "cells.csv").read_text().splitlines()[1].startswith("s0,finished,true")
    assert 'name = "quick: Two seeds"' in (folder / "s0" / "experiment.toml").read_text()


@pytest.mark.parametrize(
    ("text", "words", "code", "message"),
    [
        ("seeds = [1]", (), 2, "unknown key 'seeds'; did you mean 'seed'"),
        ("rule.kapa = [1]", (), 2, "did you mean 'kappa'"),
        ("seed = []", (), 2, "leaves no cell"),
        ("seed = [", (), 2, "is not valid TOML"),
        ("seed = [1]", ("--set", "rounds"), 2, "--set takes key=value"),
        ("seed = [1]", ("--out", "bad.toml"), 4, "is a file; choose another folder"),
        ("seed = [1]", ("--together", "0"), 2, "--together is at least 1, not 0"),
        ("seed = [1]", ("--until", "0"), 124, "stopped: because the time is up: 0 of 1 cells are finished"),
    ],
)
def test_exit_codes(
    file: str,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    words: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    (here / "bad.toml").write_text(text)
    assert call("sweep", "bad.toml", *words) == code
    assert message in " ".join(capsys.readouterr().err.split())


def test_failed_cells_are_listed_and_end_with_their_own_code(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = Inline({"s1": [Event("s1", "failed", text="no room")]})
    monkeypatch.setattr("surefed.sweep.drive._backend", lambda *given: failing)
    assert call("sweep", file) == 7
    assert "1 of 2 cells failed" in capsys.readouterr().err
    assert call("sweep", file, "--retry-failed") == 0


def test_on_a_terminal_the_cells_under_way_are_drawn(file: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(force_terminal=True, width=100, record=True, file=(here / "screen").open("w"))
    monkeypatch.setattr(console, "err", screen)
    board = Board.look(Folder(here / "out", read_sweep(file)))
    board.start("s0")
    board.round["s0"], board.speed = 2, {kind(board.cells["s0"]): 30.0}
    with progress() as watch:
        watch(board, "s0: started")
        watch(board, "s9: finished [at last]")
    screen.file.close()
    drawn = screen.export_text()
    assert "s9: finished [at last]" in drawn
    assert "s0: started" not in drawn
    assert "2/4" in drawn
    assert "60 s left" in drawn
    assert "0 of 2 cells finished, 1 running, about 3 min left" in drawn
