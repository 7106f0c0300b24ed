"""Write the page and all that goes with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from surefed.core import ConfigError
from surefed.records import write_text
from surefed.report import claims, provenance
from surefed.report.chapters import Report, compose
from surefed.report.markdown import markdown
from surefed.report.names import slug
from surefed.report.page import page
from surefed.report.results import Sweep
from surefed.report.table import Table

PAGE, MARKDOWN, TABLES, FIGURES = "index.html", "results.md", "tables", "figures"


def build(sweeps: Sequence[Sweep], out: Path) -> Path:
    """Write index.html, results.md, tables/ and figures/ into a folder, and return the page."""
    if (out / "run.json").exists() or (out / "sweep.json").exists():
        raise ConfigError(f"{out} holds records; choose another folder for the page with --out")
    report = compose(sweeps, out / FIGURES)
    for table in _tables(report):
        name = slug(table.name)
        write_text(out / TABLES / f"{name}.csv", table.csv())
        write_text(out / TABLES / f"{name}.tex", table.tex())
    write_text(out / MARKDOWN, markdown(report))
    write_text(out / PAGE, page(report))
    return out / PAGE


def build_markdown(sweeps: Sequence[Sweep], path: Path) -> Path:
    """Write the tables alone, as Markdown."""
    write_text(path, markdown(compose(sweeps, None)))
    return path


def _tables(report: Report) -> Iterator[Table]:
    yield claims.table(report.claims)
    yield provenance.overview(report.sweeps)
    gone = provenance.unfinished(report.sweeps)
    if gone is not None:
        yield gone
    for chapter in report.chapters:
        for part in chapter.parts:
            yield from part.tables
        yield provenance.cells(chapter.sweep)
