from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from surefed.sweep import Board, read_sweep
from surefed.sweep.__main__ import Lines, main
from surefed.sweep.folder import Folder

from .conftest import Inline, Write
from .test_drive import status


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))


def test_it_runs_where_the_command_cannot_be_imported() -> None:
    code = "import sys; sys.modules['typer'] = sys.modules['rich'] = None; import surefed.sweep.__main__"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_it_does_what_the_command_does(
    write: Write, inline: Callable[..., Inline], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inline()
    file = str(write("seed = [0, 1]\nquick.seed = 0\n"))
    assert main([file, "--quick", "--set", "rounds=2"]) == 0
    said = capsys.readouterr()
    assert "1 of 1 cells finished" in said.out
    assert "s0: finished in" in said.err
    assert status(tmp_path / "runs" / "small-quick") == ["finished"]
    assert main([file, "--out", "other", "--until", "0"]) == 124
    assert "surefed: stopped: because the time is up" in capsys.readouterr().err
    assert main([str(tmp_path / "none.toml")]) == 2
    assert "surefed: error: there is no file" in capsys.readouterr().err


def test_a_dry_run_goes_by_what_was_measured_if_anything_was(
    write: Write, inline: Callable[..., Inline], capsys: pytest.CaptureFixture[str]
) -> None:
    inline()
    one, both = "seed = [0]\n", "seed = [0, 1]\n"
    assert main([str(write(both)), "--dry-run", "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("s0: waiting\ns1: waiting\n2 cells of 8 rounds in all, 1 at a time: about 0 s, if all cells")
    assert main([str(write(one)), "--out", "runs/small"]) == 0
    capsys.readouterr()
    assert main([str(write(both)), "--dry-run", "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("s0: finished\ns1: waiting\n1 cells of 4 rounds in all, 1 at a time: about 0 s, by what was")
    assert "together" not in said
    assert main([str(write(both)), "--dry-run", "--workers", "1", "--together", "2"]) == 0
    assert capsys.readouterr().out == f"{said.strip()}; those that run together take less\n"
    assert main([str(write(one)), "--dry-run"]) == 0
    assert capsys.readouterr().out == "s0: finished\nnothing is left to do\n"


def test_lines_break_a_long_silence(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = Board.look(Folder(tmp_path / "out", read_sweep(write("seed = [0, 1]\n"))))
    lines = Lines()
    lines(board, None)
    assert capsys.readouterr().err == ""
    board.start("s1")
    lines.spoke -= 61
    lines(board, None)
    assert capsys.readouterr().err == "0 of 2 cells finished, 1 running; s1 at round 0\n"
