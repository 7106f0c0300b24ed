from __future__ import annotations

from pathlib import Path

import pytest

from ..report.made import plans, write_sweep
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


def test_what_is_not_there_ends_with_the_code_of_records(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("report", "nowhere") == 4
    assert "surefed sweep" in capsys.readouterr().err


def test_a_file_that_is_no_page_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sweep(here / "mnist", plans(["surefed"], ["alie"]))
    assert call("report", "mnist", "--out", "page.pdf") == 2
    assert "a folder, or a .md file" in capsys.readouterr().err
