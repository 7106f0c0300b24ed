from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from surefed.report import compact
from surefed.sim import run
from surefed.sweep import read_sweep
from surefed.sweep.folder import Folder

from ..report.made import plans, write_sweep
from ..sweep.conftest import SMALL
from .test_cli import call, here

__all__ = ["here"]


def test_a_page_from_a_sweep(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sweep(here / "runs" / "mnist", plans(["surefed"], ["alie", "none"]))
    assert call("report", "runs", "--out", "page") == 0
    assert "page/index.html" in capsys.readouterr().out
    assert {entry.name for entry in (here / "page").iterdir()} == {"index.html", "results.md", "tables", "figures"}


def test_small_files_and_the_document_from_them(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sweep(here / "runs" / "mnist", plans(["surefed"], ["alie", "none"]))
    assert call("report", "runs/mnist", "--save", "results/mnist") == 0
    assert "results/mnist (" in capsys.readouterr().out
    assert not (here / "report").exists()
    assert call("report", "results", "--out", "docs/results.md") == 0
    assert call("report", "runs", "--out", "page") == 0
    assert (here / "docs" / "results.md").read_text() == (here / "page" / "results.md").read_text()


def write_part(here: Path, grid: str, name: str) -> None:
    """The folder of one finished cell of a grid, as it comes from another machine."""
    (here / "grid.toml").write_text(SMALL + grid)
    sweep = read_sweep("grid.toml")
    (cell,) = (cell for cell in sweep.cells if cell.name == name)
    folder = Folder(here / name / "small", replace(sweep, cells=(cell,)))
    run(cell.experiment, out=folder.place(cell))
    folder.write_grid()
    folder.write_table()


def test_cells_come_together_from_several_machines(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = '[rule]\nname = ["surefed", "median", "gossip"]\n'
    for name in ("surefed", "median"):
        write_part(here, grid, name)
        assert call("report", name, "--save", "results") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[2:] == ["        kept 1 cell (saved before): surefed"]
    saved = compact.read(Path("results"))
    assert {cell.name: cell.status for cell in saved.cells} == {
        "surefed": "finished",
        "median": "finished",
        "gossip": "waiting",
    }
    write_part(here, 'seed = 1\n[rule]\nname = ["median", "gossip"]\n', "gossip")
    assert call("report", "gossip", "--save", "results") == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "        dropped 1 cell (not finished again yet; settings changed: seed): median",
        "        dropped 1 cell (no longer in the grid): surefed",
    ]
    assert [cell.name for cell in compact.read(Path("results")).done] == ["gossip"]


@pytest.mark.parametrize("file", ["no grid", "name = 'another'\nrounds = 4\n", None])
def test_without_the_grid_nothing_is_dropped(here: Path, capsys: pytest.CaptureFixture[str], file: str | None) -> None:
    grid = '[rule]\nname = ["surefed", "median"]\n'
    for name in ("surefed", "median"):
        write_part(here, grid, name)
    (here / "grid.toml").unlink()
    if file is not None:
        (here / "grid.toml").write_text(file)
    for name in ("surefed", "median"):
        assert call("report", name, "--save", "results") == 0
    assert "unsure of 1 cell (perhaps no longer in the grid; grid.toml is not here" in capsys.readouterr().out
    assert [cell.name for cell in compact.read(Path("results")).done] == ["surefed", "median"]


def test_results_that_cannot_be_added_to_end_with_the_code_of_records(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_sweep(here / "mnist", plans(["surefed"], ["alie"]))
    write_sweep(here / "femnist", plans(["surefed"], ["alie"]))
    assert call("report", "mnist", "--save", "results") == 0
    assert call("report", "femnist", "--save", "results") == 4
    assert "--save to another folder" in capsys.readouterr().err
    (here / "results" / "trust.json").write_text("")
    assert call("report", "mnist", "--save", "results") == 4
    assert "delete it and `surefed report --save` again" in capsys.readouterr().err


def test_what_is_not_there_ends_with_the_code_of_records(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("report", "nowhere") == 4
    assert "surefed sweep" in capsys.readouterr().err


def test_a_file_that_is_no_page_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sweep(here / "mnist", plans(["surefed"], ["alie"]))
    assert call("report", "mnist", "--out", "page.pdf") == 2
    assert "a folder, or a .md file" in capsys.readouterr().err
