"""`surefed report`: a page of results from sweeps and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surefed.cli import console
from surefed.cli.commands import app
from surefed.core import ConfigError
from surefed.report.build import build, build_markdown
from surefed.report.compact import save as save_results
from surefed.report.gather import gather

PAGE = Path("report")


@app.command("report")
def report_command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of sweeps or runs, folders of these, or of --save.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the page, or a .md file for its tables alone; default: report.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Reduce the runs to small files here, which give the same page."),
    ] = None,
) -> None:
    """Write a page of tables and figures, ours beside the paper's; or, with --save, files small enough to commit."""
    sweeps = gather(runs)
    if save is not None:
        for place in save_results(sweeps, save):
            size = sum(file.stat().st_size for file in place.iterdir() if file.is_file())
            console.say(f"saved:  {place} ({size / 1000:.0f} kB)")
        if out is None:
            return
    out = out or PAGE
    if out.suffix == ".md":
        console.say(f"tables: {build_markdown(sweeps, out)}")
        return
    if out.suffix:
        raise ConfigError(f"--out is a folder, or a .md file for the tables alone; {out.name!r} is neither")
    console.say(f"page:   {build(sweeps, out)}")
