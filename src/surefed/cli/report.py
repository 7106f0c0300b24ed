"""`surefed report`: a page of results from sweeps and runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from surefed.cli import console
from surefed.cli.commands import app, own_modules
from surefed.core import ConfigError, SureFEDError
from surefed.report.build import build, build_markdown
from surefed.report.compact import save as save_results
from surefed.report.gather import gather
from surefed.report.results import Cell
from surefed.sweep import read_sweep

PAGE = Path("report")


@app.command("report")
def report_command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of sweeps or runs, folders of these, or of --save.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the page, or a .md file for its tables alone; default: report.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Reduce the runs to small files, and add them to those here."),
    ] = None,
) -> None:
    """Write a page of tables and figures, ours beside the paper's; or, with --save, files small enough to commit."""
    sweeps = gather(runs)
    if save is not None:
        own_modules()
        for place, merged in save_results(sweeps, save, plan):
            size = sum(file.stat().st_size for file in place.iterdir() if file.is_file())
            console.say("\n        ".join([f"saved:  {place} ({size / 1000:.0f} kB)", *merged.lines()]))
        if out is None:
            return
    out = out or PAGE
    if out.suffix == ".md":
        console.say(f"tables: {build_markdown(sweeps, out)}")
        return
    if out.suffix:
        raise ConfigError(f"--out is a folder, or a .md file for the tables alone; {out.name!r} is neither")
    console.say(f"page:   {build(sweeps, out)}")


def plan(grid: Mapping[str, Any]) -> list[Cell] | None:
    """The cells that the file of a sweep asks for today; None where there is no such file here that can be read."""
    file = Path(str(grid.get("file", "")))
    if not file.is_file():
        return None
    try:
        sweep = read_sweep(file, quick=bool(grid.get("quick")), settings=grid.get("settings", ()))
    except SureFEDError:
        return None
    cells = [Cell(cell.name, {}, cell.values, cell.labels, "", digest=cell.digest) for cell in sweep.cells]
    return cells if sweep.name == grid.get("name") else None
