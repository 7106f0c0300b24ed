"""What people see: tables, and a live line per run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from rich.box import SIMPLE_HEAVY
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from surefed.records import Record
from surefed.report import percent, summary, title
from surefed.sim import Watcher

out = Console()
err = Console(stderr=True)


class Format(StrEnum):
    """How results are printed."""

    text = "text"
    json = "json"


def print_json(values: Any) -> None:
    """For programs: one JSON document on standard output and nothing else."""
    print(json.dumps(values, indent=2, allow_nan=False))


def figures_line(figures: dict[str, Any]) -> str:
    """The last evaluation in a few words."""
    accuracy, trusted = figures["accuracy"], figures["trusted"]
    words = [f"accuracy {percent(accuracy['mean'])} (worst {percent(accuracy['worst'])})"]
    if trusted["honest"] is not None:
        words.append(f"trusts {percent(trusted['honest'], 0)} of honest")
    if trusted["malicious"] is not None:
        words.append(f"{percent(trusted['malicious'], 0)} of malicious")
    return ", ".join(words)


@contextmanager
def progress(quiet: bool = False) -> Iterator[Any]:
    """Yields a function (label, rounds) -> watcher; each watcher drives a live bar, or plain lines in a log."""
    if quiet:
        yield lambda label, rounds: lambda round, figures: None
    elif not err.is_terminal:
        yield _plain
    else:
        columns = (
            TextColumn("{task.description:<22}"),
            BarColumn(bar_width=18),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("<"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[figures]}"),
        )
        with Progress(*columns, console=err) as bars:

            def bar(label: str, rounds: int) -> Watcher:
                task = bars.add_task(label, total=rounds, figures="")

                def watch(round: int, figures: dict[str, Any] | None) -> None:
                    bars.update(task, completed=round)
                    if figures:
                        bars.update(task, figures=figures_line(figures))

                return watch

            yield bar


def _plain(label: str, rounds: int) -> Watcher:
    """About ten lines a run, for logs and pipes."""
    step = max(1, rounds // 10)
    due = 0

    def watch(round: int, figures: dict[str, Any] | None) -> None:
        nonlocal due
        if figures and (round >= due or round == rounds):
            due = round + step - round % step
            err.print(f"{label}: round {round}/{rounds}: {figures_line(figures)}", soft_wrap=True, highlight=False)

    return watch


def print_runs(records: Sequence[Record]) -> None:
    """The runs side by side."""
    attacks = len({record.experiment["attack"]["name"] for record in records}) > 1
    repeated = len({title(record) for record in records}) < len(records)
    table = Table(
        title=_heading(records), title_justify="left", box=SIMPLE_HEAVY, pad_edge=False, collapse_padding=True
    )
    if repeated:
        table.add_column("run", no_wrap=True)
    table.add_column("rule", no_wrap=True)
    if attacks:
        table.add_column("attack", no_wrap=True)
    for name in ("accuracy", "worst\nclient", "trusts\nhonest", "trusts\nmalicious", "round", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for record in records:
        figures = summary(record)
        done = figures["finished"]
        table.add_row(
            *([record.path.name] if repeated else []),
            title(record),
            *([figures["attack"]] if attacks else []),
            percent(figures["accuracy"]),
            percent(figures["worst"]),
            percent(figures["trusts_honest"], 0),
            percent(figures["trusts_malicious"], 0),
            str(figures["round"]) if done else f"{figures['round']}/{figures['rounds']}",
            f"{figures['seconds']:.1f}" if done else "-",
        )
    out.print(table)


def _heading(records: Sequence[Record]) -> str:
    first = summary(records[0])
    if all(summary(record)["name"] == first["name"] for record in records):
        return f"{first['name']}: {first['malicious']} of {first['clients']} clients malicious ({first['attack']})"
    return f"{len(records)} runs"
