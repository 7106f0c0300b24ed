"""`surefed sweep`: a grid of experiments from one file, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAVY
from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from surefed.cli import console
from surefed.cli.commands import DeviceOption, FormatOption, app, own_modules
from surefed.cli.console import Format
from surefed.report import percent
from surefed.sweep import Board, Sweep, read_sweep, run_sweep
from surefed.sweep.__main__ import Lines
from surefed.sweep.board import duration
from surefed.sweep.drive import Watch, default_size
from surefed.sweep.estimate import estimate

WorkersOption = Annotated[
    int | None, typer.Option(help="Cells at a time; default: a core each, on a GPU as many as --gpu-share lets in.")
]
RayOption = Annotated[
    str | None, typer.Option(metavar="ADDRESS|local", help="Run the cells on a Ray cluster, or on one started here.")
]
ShareOption = Annotated[float | None, typer.Option(help="Share of a GPU that a cell takes, e.g. 0.25; default: 1.")]
TogetherOption = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Run up to N cells in one process: on a GPU any, else those that learn the same local beliefs, once.",
    ),
]
RetryOption = Annotated[bool, typer.Option("--retry-failed", help="Also run the cells that failed before.")]
DryOption = Annotated[bool, typer.Option("--dry-run", help="Print the cells and an estimate, and run nothing.")]
UntilOption = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Then save what is under way and stop; exit code 124.")
]


@app.command("sweep")
def sweep_command(
    file: Annotated[Path, typer.Argument(help="A sweep file; docs/sweeps.md shows how one is written.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the sweep; default: runs/ and its name.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value in all cells.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The small version, as the file's [quick] says.")] = False,
    workers: WorkersOption = None,
    ray: RayOption = None,
    gpu_share: ShareOption = None,
    together: TogetherOption = 1,
    device: DeviceOption = "cpu",
    until: UntilOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Run cells so called, e.g. 'surefed-*-s0'; others stay as they are."),
    ] = None,
    retry_failed: RetryOption = False,
    dry_run: DryOption = False,
    format: FormatOption = Format.text,
) -> None:
    """Run every cell of a grid; finished ones are skipped. Stopped or killed? The same command goes on where it was."""
    own_modules()
    grid = read_sweep(file, quick=quick, settings=settings or [])
    folder = out if out is not None else Path("runs") / grid.folder_name
    if dry_run:
        size = workers or default_size(grid, device, gpu_share)
        foresee(grid, folder, device, size, format, only or (), together)
        return
    with progress(quiet=format is Format.json) as watch:
        board = run_sweep(
            grid,
            folder,
            device=device,
            workers=workers,
            ray=ray,
            gpu_share=gpu_share,
            retry_failed=retry_failed,
            until=until,
            only=only or (),
            together=together,
            watch=watch,
        )
    show(board, format)


def foresee(
    sweep: Sweep, folder: Path, device: str, size: int, format: Format, only: Sequence[str] = (), together: int = 1
) -> None:
    """Print the cells and what they would cost."""
    board, cost = estimate(sweep, folder, device=device, size=size, only=only, together=together)
    if format is Format.json:
        cells = [{"cell": name, "status": status} for name, status in board.status.items()]
        console.print_json({"title": sweep.title, "cells": cells, "seconds": board.left(), "estimate": cost})
        return
    console.out.print(escape(sweep.title), style="bold", highlight=False)
    for name, status in board.status.items():
        console.say(f"  {name:<50} {status}")
    console.say(cost)


def show(board: Board, format: Format) -> None:
    """Print what the cells gave."""
    folder, sweep = board.folder, board.folder.sweep
    rows = [folder.row(cell) for cell in sweep.cells]
    if format is Format.json:
        console.print_json({"title": sweep.title, "folder": str(folder.path), "cells": rows})
        return
    table = Table(title=escape(sweep.title), title_justify="left", box=SIMPLE_HEAVY, pad_edge=False)
    table.collapse_padding = True
    table.add_column("cell", no_wrap=True)
    for name in ("accuracy\nor R2", "worst\nclient", "backdoor", "trusts\nhonest", "trusts\nmalicious", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            escape(row["cell"]),
            percent(row["r2"] if row["accuracy"] is None else row["accuracy"]),
            percent(row["worst"]),
            percent(row["backdoor"]),
            percent(row["trusts_honest"], 0),
            percent(row["trusts_malicious"], 0),
            f"{row['seconds']:.1f}",
        )
    console.out.print(table)
    console.say(f"table:   {folder.path / 'cells.csv'}\nrecords: {folder.path}")


@contextmanager
def progress(quiet: bool = False) -> Iterator[Watch]:
    """Yields what a sweep tells its progress to: a live table, or plain lines in a log."""
    if quiet:
        yield lambda board, said: None
    elif not console.err.is_terminal:
        yield Lines()
    else:
        with Live(console=console.err, refresh_per_second=4) as live:

            def watch(board: Board, said: str | None) -> None:
                if said is not None and not said.endswith(": started"):
                    live.console.print(said, highlight=False, markup=False, soft_wrap=True)
                live.update(_picture(board))

            yield watch


def _picture(board: Board) -> Group:
    """The cells under way, each with a bar, and a line on all of them."""
    table = Table.grid(padding=(0, 2))
    for name in board.named("running"):
        rounds, reached = board.cells[name].experiment.rounds, board.round.get(name, 0)
        left = None if (own := board.left_of(name)) is None else own * len(board.bundle.get(name, (name,)))
        bar = ProgressBar(total=rounds, completed=reached, width=24)
        table.add_row(escape(name), bar, f"{reached}/{rounds}", "" if left is None else f"{duration(left)} left")
    return Group(table, Text(board.summary(), style="bold"))
