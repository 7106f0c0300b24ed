"""What people see: tables, and a live line per run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from rich.box import SIMPLE_HEAVY
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from surefed.records import Record
from surefed.report import MEASURES, measured, notices, percent, score, story, summary, title
from surefed.sim import Watcher

out = Console()
if not out.is_terminal and "COLUMNS" not in os.environ:
    out = Console(width=160)  # a pipe or a file has room
err = Console(stderr=True)


class Format(StrEnum):
    """How results are printed."""

    text = "text"
    json = "json"


def print_json(values: Any) -> None:
    """For programs: one JSON document on standard output and nothing else."""
    print(json.dumps(values, indent=2, allow_nan=False))


def say(text: str) -> None:
    """A line of plain text: nothing in it is markup, and it is never cut."""
    out.print(text, soft_wrap=True, highlight=False, markup=False)


def figures_line(figures: dict[str, Any], short: bool = False) -> str:
    """The last evaluation in a few words: accuracy or R2, and how much of whom is trusted."""
    reached, trusted = score(figures), figures["trusted"]
    if short:
        trust = ((group, trusted[group]) for group in ("honest", "malicious") if trusted[group] is not None)
        return " ".join([percent(reached.mean), *(f"{group} {percent(share, 0)}" for group, share in trust)])
    words = [f"{MEASURES[reached.measure]} {percent(reached.mean)} (worst {percent(reached.worst)})"]
    if trusted["honest"] is not None:
        words.append(f"trusts {percent(trusted['honest'], 0)} of honest")
    if trusted["malicious"] is not None:
        words.append(f"{percent(trusted['malicious'], 0)} of malicious")
    return ", ".join(words)


@contextmanager
def progress(quiet: bool = False) -> Iterator[Callable[[str, int], Watcher]]:
    """Yields a function (label, rounds) -> watcher; each watcher drives a live bar, or plain lines in a log."""
    if quiet:
        yield lambda label, rounds: lambda round, figures: None
    elif not err.is_terminal:
        yield _plain
    else:
        short = err.width < 110
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=8 if short else 18),
            MofNCompleteColumn(),
            TimeRemainingColumn() if short else TimeElapsedColumn(),
            *(() if short else (TextColumn("<"), TimeRemainingColumn())),
            TextColumn("{task.fields[figures]}"),
        )
        with Progress(*columns, console=err) as bars:

            def bar(label: str, rounds: int) -> Watcher:
                task = bars.add_task(f"{label:<10}", total=rounds, figures="")

                def watch(round: int, figures: dict[str, Any] | None) -> None:
                    bars.update(task, completed=round)
                    if figures:
                        bars.update(task, figures=figures_line(figures, short))

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


@contextmanager
def downloads(quiet: bool = False) -> Iterator[Callable[[str, int, int | None], None]]:
    """Yields a function (file, bytes here, bytes in all) that drives a bar per file, or prints a line per file."""
    if quiet:
        yield lambda file, done, total: None
        return
    if not err.is_terminal:
        named: set[str] = set()

        def line(file: str, done: int, total: int | None) -> None:
            if file not in named:
                err.print(f"{file}: {'?' if total is None else total} bytes", soft_wrap=True, highlight=False)
            named.add(file)

        yield line
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=err) as bars:
        tasks: dict[str, TaskID] = {}

        def bar(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file, total=total)
            bars.update(tasks[file], completed=done, total=total)

        yield bar


def print_runs(records: Sequence[Record]) -> None:
    """The runs side by side. Where room is short, names are cut, never numbers."""
    attacks = len({record.experiment["attack"]["name"] for record in records}) > 1
    repeated = len({title(record) for record in records}) < len(records)
    table = Table(title=escape(_heading(records)), title_justify="left", box=SIMPLE_HEAVY, pad_edge=False)
    table.collapse_padding = True
    names = [*(["run"] if repeated else []), "rule", *(["attack"] if attacks else [])]
    for name in names:
        table.add_column(name, no_wrap=True)
    room = max(10, (out.width - 60) // len(names) - 2)
    columns = (measured(records), "worst\nclient", "trusts\nhonest", "trusts\nmalicious", "round", "seconds")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for record in records:
        figures = summary(record)
        done = figures["finished"]
        table.add_row(
            *([_cut(record.path.name, room)] if repeated else []),
            _cut(title(record), max(room, 0 if len(names) > 1 else 24)),
            *([_cut(figures["attack"], room)] if attacks else []),
            percent(figures[figures["measure"]]),
            percent(figures["worst"]),
            percent(figures["trusts_honest"], 0),
            percent(figures["trusts_malicious"], 0),
            str(figures["round"]) if done else f"{figures['round']}/{figures['rounds']}",
            f"{figures['seconds']:.1f}",
        )
    out.print(table)
    for record in records:
        name = record.path.name if repeated else title(record)
        for line in filter(None, [story(record), *notices(record)]):
            say(f"{name}: {line}")


def _cut(name: str, room: int) -> str:
    """A name that takes no more room than there is."""
    return escape(name if len(name) <= room else f"{name[: room - 1]}…")


def _heading(records: Sequence[Record]) -> str:
    """What the runs have in common."""
    figures = [summary(record) for record in records]
    first = figures[0]
    if any(other["name"] != first["name"] for other in figures):
        return f"{len(records)} runs"
    if any((other["attack"], other["malicious"]) != (first["attack"], first["malicious"]) for other in figures):
        return f"{first['name']}: {len(records)} runs"
    return f"{first['name']}: {first['malicious']} of {first['clients']} clients malicious ({first['attack']})"
