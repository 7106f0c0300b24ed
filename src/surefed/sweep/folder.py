"""What a sweep leaves behind: its cells' records, and one table of what they gave.

    sweep.json         the grid as it was resolved, versions, device and command of every session
    cells.csv          a row per cell: what was varied, its final figures, its status; docs/sweeps.md names the columns
    cells.parquet      the same, where pyarrow is installed
    CELL/              the record of one cell, the same as any other run's
    errors/CELL.txt    why a cell failed; gone once it has succeeded

The records are the state: a cell is finished if its record is, failed if there is an error, else still to be done.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from surefed.core import ConfigError, RecordError
from surefed.records import CHECKPOINT, Record, read, replace_file, storage, write_text
from surefed.sweep.grid import Cell, Sweep
from surefed.sweep.points import flat

Status = Literal["waiting", "running", "interrupted", "finished", "failed"]
SWEEP, TABLE, PARQUET, ERRORS = "sweep.json", "cells.csv", "cells.parquet", "errors"
FORMAT = 1
ALWAYS = ("data.name", "rule.name", "attack.name", "attack.malicious", "graph.name")
"""Keys that every table has, so that tables of several sweeps can be put together."""
FIGURES = {
    "accuracy": ("accuracy", "mean"),
    "r2": ("r2", "mean"),
    "rmse": ("rmse", "mean"),
    "loss": ("loss", "mean"),
    "local_accuracy": ("local_accuracy", "mean"),
    "backdoor": ("backdoor", "mean"),
    "backdoor_worst": ("backdoor", "worst"),
    "backdoor_floor": ("backdoor", "floor"),
    "trusts_honest": ("trusted", "honest"),
    "trusts_malicious": ("trusted", "malicious"),
    "precision": ("detection", "precision"),
    "recall": ("detection", "recall"),
}
"""Columns of figures, and where the last line of a record has them."""
OTHERS = (
    "cell", "status", "quick", "seed", "rounds", "round", "clients", "malicious", "worst", "seconds", "device",
    "folder", "error",
)  # fmt: skip
"""Columns that every table has besides."""


class Folder:
    """The folder of a sweep."""

    def __init__(self, path: Path, sweep: Sweep) -> None:
        for column in sweep.columns:
            if column in (*FIGURES, *OTHERS):
                raise ConfigError(f"the table has a column {column!r} of its own; call the label something else")
        self.path, self.sweep = path, _as_before(path, sweep)
        self._finished: dict[str, dict[str, Any]] = {}

    def place(self, cell: Cell) -> Path:
        """Where a cell's record is."""
        return self.path / cell.name

    def record(self, cell: Cell) -> Record | None:
        """The record of a cell, if it was begun."""
        place = self.place(cell)
        return read(place) if (place / "run.json").exists() else None

    def error(self, cell: Cell) -> str | None:
        """Why a cell failed, if it did."""
        path = self._error(cell)
        return path.read_text() if path.exists() else None

    def fail(self, cell: Cell, text: str) -> None:
        """Remember why a cell failed."""
        write_text(self._error(cell), text.rstrip() + "\n")

    def forgive(self, cell: Cell) -> None:
        """Forget that a cell failed."""
        with storage(self._error(cell)):
            self._error(cell).unlink(missing_ok=True)

    def status(self, cell: Cell) -> Status:
        """How far a cell is, as the folder tells; nobody is at work on it."""
        record = self.record(cell)
        if record is not None and record.finished:
            return "finished"
        if self._error(cell).exists():
            return "failed"
        return "waiting" if record is None else "interrupted"

    def tidy(self, cell: Cell) -> None:
        """Drop the beliefs of a finished cell, unless the sweep keeps them: they are hundreds of times its figures."""
        if not self.sweep.keep_beliefs:
            with storage(self.place(cell)):
                (self.place(cell) / CHECKPOINT).unlink(missing_ok=True)

    def check(self) -> None:
        """Refuse a folder in which a cell's place is taken by another experiment, before anything is written."""
        if self.path.exists() and not self.path.is_dir():
            raise RecordError(f"{self.path} is a file; choose another folder with --out")
        if (self.path / "run.json").exists():
            raise RecordError(f"{self.path} is the folder of a single run; choose another one with --out")
        for cell in self.sweep.cells:
            record = self.record(cell)
            difference = None if record is None else _difference(record, cell)
            if difference:
                raise RecordError(
                    f"{self.place(cell)} belongs to another experiment: {difference}; choose another --out"
                )

    def _error(self, cell: Cell) -> Path:
        return self.path / ERRORS / f"{cell.name}.txt"

    def write_grid(self, session: Mapping[str, Any] | None = None) -> None:
        """Write sweep.json; session: where, when and with what cells are run now, beside those before."""
        sessions = (known(self.path) or {}).get("sessions", []) + ([] if session is None else [session])
        cells, sweep = self.sweep.cells, self.sweep
        first = cells[0].values
        shared = {key for key in first if all(cell.values.get(key) == first[key] for cell in cells)}
        grid = {
            "format": FORMAT,
            "name": sweep.name,
            "title": sweep.title,
            "quick": sweep.quick,
            "file": str(sweep.file),
            "settings": list(sweep.settings),
            "labels": list(sweep.columns),
            "keys": list(sweep.keys),
            "sessions": sessions,
            "common": {key: first[key] for key in first if key in shared},
            "cells": [
                {
                    "name": cell.name,
                    "digest": cell.digest,
                    "labels": dict(cell.labels),
                    "values": {key: value for key, value in cell.values.items() if key not in shared},
                }
                for cell in cells
            ],
        }
        write_text(self.path / SWEEP, json.dumps(grid, indent=1, allow_nan=False) + "\n")

    def write_table(self, running: Iterable[str] = ()) -> None:
        """Write the table; running: the cells that somebody is at work on."""
        active = set(running)
        rows = [self.row(cell, running=cell.name in active) for cell in self.sweep.cells]
        columns = list(rows[0])
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _written(value) for key, value in row.items()} for row in rows)
        write_text(self.path / TABLE, text.getvalue())
        if find_spec("pyarrow") is not None:
            replace_file(self.path / PARQUET, lambda fresh: _parquet(fresh, columns, rows))

    def row(self, cell: Cell, *, running: bool = False) -> dict[str, Any]:
        """What the table says of one cell."""
        if cell.name in self._finished:
            return self._finished[cell.name]
        status: Status = "running" if running else self.status(cell)
        record = self.record(cell)
        last = record.rounds[-1] if record is not None and record.rounds else {}
        sweep, values, about = self.sweep, cell.values, record.run if record is not None else {}
        error = self.error(cell) if status == "failed" else None
        row: dict[str, Any] = {"cell": cell.name, "status": status, "quick": sweep.quick}
        row |= {column: cell.labels.get(column) for column in sweep.columns}
        row |= {key: values.get(key) for key in dict.fromkeys((*ALWAYS, *sweep.keys)) if key not in ("seed", "rounds")}
        if values["attack.name"] == "none":
            row["attack.malicious"] = 0.0
        row |= {"seed": values["seed"], "rounds": values["rounds"], "round": last.get("round", 0)}
        row |= {key: len(about[key]) if key in about else None for key in ("clients", "malicious")}
        row["worst"] = last.get("accuracy", last.get("r2", {})).get("worst")
        row |= {name: last.get(table, {}).get(key) for name, (table, key) in FIGURES.items()}
        timing = record.timing if record is not None else []
        row["seconds"] = round(sum(line["rounds"] + line["evaluate"] for line in timing), 3)
        row |= {"device": about.get("device"), "folder": cell.name}
        row["error"] = None if error is None else error.strip().splitlines()[-1]
        if status == "finished":
            self._finished[cell.name] = row
        return row


def _as_before(path: Path, sweep: Sweep) -> Sweep:
    """The sweep, with cells called what they were called when they were begun here."""
    before = {cell["digest"]: cell["name"] for cell in (known(path) or {}).get("cells", [])}
    begun = {digest: name for digest, name in before.items() if (path / name / "run.json").exists()}
    cells = tuple(replace(cell, name=begun.get(cell.digest, cell.name)) for cell in sweep.cells)
    for name, times in Counter(cell.name for cell in cells).items():
        if times > 1:
            raise RecordError(f"{path / name} belongs to another cell of an earlier sweep; choose another --out")
    return replace(sweep, cells=cells)


def known(path: Path) -> dict[str, Any] | None:
    """The sweep.json of a folder, if it has one."""
    if not (path / SWEEP).exists():
        return None
    try:
        grid = json.loads((path / SWEEP).read_text())
    except (OSError, ValueError) as error:
        raise RecordError(f"{path / SWEEP} is damaged ({error}); delete it, the cells stay") from error
    if not isinstance(grid, dict) or grid.get("format") != FORMAT:
        raise RecordError(f"{path / SWEEP} is not a sweep that this version reads; choose another --out")
    return grid


def _difference(record: Record, cell: Cell) -> str | None:
    """What tells the experiment of a record from that of a cell; what only data decides does not count."""
    there = flat(record.experiment)
    for key, value in cell.values.items():
        if key in ("name", "checkpoint_every") or (value == "auto" and key.startswith("data.")):
            continue
        if there.get(key) != value:
            return f"{key} is {there.get(key, 'not set')!r} there and {value!r} here"
    return None


def _written(value: Any) -> str:
    """A value in the table: nothing for none, as Python spells numbers."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parquet(path: Path, columns: list[str], rows: list[dict[str, Any]]) -> None:
    """Columns of numbers as numbers; a column of several kinds as text."""
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    table = {}
    for column in columns:
        values = [row[column] for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if kinds == {int, float}:
            values = [None if value is None else float(value) for value in values]
        elif kinds and kinds not in ({int}, {float}, {bool}, {str}):
            values = [None if value is None else _written(value) for value in values]
        table[column] = values
    parquet.write_table(arrow.table(table), path)
