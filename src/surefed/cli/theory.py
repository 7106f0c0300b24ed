"""`surefed theory`: the theorems of the paper, put to the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.box import SIMPLE_HEAVY
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from surefed.cli import console
from surefed.cli.commands import FormatOption, app
from surefed.cli.console import Format
from surefed.core import ConfigError
from surefed.records import replace_file, storage, write_text
from surefed.theory import EXPERIMENTS, Experiment, Report, Settings, render
from surefed.theory.page import number

theory = typer.Typer(
    name="theory",
    help="The theorems of the paper, put to the test: what the matrices predict, beside what is measured.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(theory)

Told = Callable[[str], None]
PAGE = "theory.md"
USUAL = Settings()

RepetitionsOption = Annotated[
    int, typer.Option(help="Repetitions of each federation; a half or less where it is slow.")
]
RoundsOption = Annotated[int, typer.Option(help="Rounds of each federation; twice as many where it is hard.")]
SeedOption = Annotated[int, typer.Option(help="Equal seeds give equal numbers.")]
OutOption = Annotated[
    Path | None,
    typer.Option(help="Folder of theory.md and its figures; default: docs if it has the page, else runs/theory."),
]


def _command(experiment: Experiment) -> None:
    """Add the command of one experiment."""

    @theory.command(experiment.name, help=experiment.claim)
    def one(
        repetitions: RepetitionsOption = USUAL.repetitions,
        rounds: RoundsOption = USUAL.rounds,
        seed: SeedOption = USUAL.seed,
        out: OutOption = None,
        format: FormatOption = Format.text,
    ) -> None:
        _run([experiment], Settings(rounds, repetitions, seed), out, format)


for _experiment in EXPERIMENTS.values():
    _command(_experiment)


@theory.command("all")
def all_command(
    repetitions: RepetitionsOption = USUAL.repetitions,
    rounds: RoundsOption = USUAL.rounds,
    seed: SeedOption = USUAL.seed,
    out: OutOption = None,
    format: FormatOption = Format.text,
) -> None:
    """All of them: every figure and table of docs/theory.md."""
    _run(list(EXPERIMENTS.values()), Settings(rounds, repetitions, seed), out, format)


def _run(experiments: list[Experiment], settings: Settings, out: Path | None, format: Format) -> None:
    torch.set_num_threads(1)  # matrices of six by six: threads would only wait for each other
    folder = out if out is not None else _default()
    reports: dict[str, Report] = {}
    with _progress(experiments, quiet=format is Format.json) as bars:
        for experiment in experiments:
            reports[experiment.name] = experiment.run(settings, bars(experiment))
            _save(folder, experiment, reports[experiment.name])
    if format is Format.json:
        console.print_json(
            {name: [finding.as_dict() for finding in report.findings] for name, report in reports.items()}
        )
        return
    for name, report in reports.items():
        _print(EXPERIMENTS[name], report)
    console.say(f"page:    {folder / PAGE}\nfigures: {folder / 'theory'}")


def _default() -> Path:
    return Path("docs") if (Path("docs") / PAGE).is_file() else Path("runs") / "theory"


def _save(folder: Path, experiment: Experiment, report: Report) -> None:
    """Write the figures, then the page that shows them."""
    for title, figure in report.figures.items():
        replace_file(folder / "theory" / f"{title}.png", partial(figure.savefig, format="png"))
    page = folder / PAGE
    with storage(page):
        try:
            before = page.read_text() if page.exists() else ""
        except UnicodeDecodeError as error:
            raise ConfigError(f"{page} is not a text; choose another --out") from error
    write_text(page, render(before, experiment, report, "theory"))


@contextmanager
def _progress(experiments: list[Experiment], quiet: bool) -> Iterator[Callable[[Experiment], Told]]:
    """Yields experiment -> (what is done next -> nothing): live bars, or plain lines in a log."""
    if quiet:
        yield lambda experiment: lambda doing: None
    elif not console.err.is_terminal:
        yield lambda experiment: lambda doing: _line(f"{experiment.name}: {doing}")
    else:
        columns = (
            TextColumn("{task.description:<14}"),
            BarColumn(bar_width=18),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[doing]}"),
        )
        with Progress(*columns, console=console.err) as bars:
            whole = bars.add_task("all", total=sum(one.steps for one in experiments), doing="")

            def bar(experiment: Experiment) -> Told:
                task = bars.add_task(experiment.name, total=experiment.steps, doing="")
                begun = 0

                def tell(doing: str) -> None:
                    nonlocal begun
                    done = bars.tasks[whole].completed + (begun > 0)
                    bars.update(task, completed=begun, doing=escape(doing))
                    bars.update(whole, completed=done)
                    begun += 1

                return tell

            yield bar
            for task in bars.task_ids:
                bars.update(task, completed=bars.tasks[task].total, doing="")


def _line(text: str) -> None:
    console.err.print(text, soft_wrap=True, highlight=False, markup=False)


def _print(experiment: Experiment, report: Report) -> None:
    table = Table(title=experiment.claim, title_justify="left", box=SIMPLE_HEAVY, pad_edge=False, collapse_padding=True)
    table.add_column("about")
    table.add_column("quantity")
    for title in ("predicted", "measured", "95 % interval"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("the paper", no_wrap=True)
    signs = {"equal": "", "at_most": "<= ", "at_least": ">= "}
    for one in report.findings:
        table.add_row(
            escape(one.about),
            escape(one.quantity),
            "" if one.predicted is None else f"{signs[one.kind]}{number(one.predicted)}",
            number(one.measured.value),
            f"{number(one.measured.low)} to {number(one.measured.high)}",
            "" if one.predicted is None else "agrees" if one.agrees else "differs",
            "" if one.paper == "not stated" else one.paper,
        )
    console.out.print(table)
