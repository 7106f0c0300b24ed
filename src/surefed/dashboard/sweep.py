"""Every rule under every attack: a folder of runs as a matrix, its waiting and failed cells among them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefed.core import RecordError
from surefed.dashboard.run import Run, table_in

SWEEP, ERRORS = "sweep.json", "errors"
PARTS = ("mean", "worst", "backdoor", "honest", "malicious")
ROWS, COLUMNS = ("rule", "learn"), ("attack", "data", "graph", "model")
"""The tables of an experiment whose differences make rows, and those whose differences make columns."""
LONGEST = 60
"""Letters of a name of a row or column."""


@dataclass(frozen=True)
class Cell:
    """One run of a sweep, begun or not. values: what decides it, by dotted name."""

    name: str
    row: str
    values: Mapping[str, Any]
    brief: dict[str, Any] | None
    error: str | None = None

    @property
    def column(self) -> str:
        """The attack."""
        return str(self.values.get("attack.name", "-"))

    @property
    def status(self) -> str:
        """How far it is."""
        if self.brief is None:
            return "waiting" if self.error is None else "failed"
        return "failed" if self.error is not None else str(self.brief["status"])


def matrix(folder: Path, runs: Iterable[Run]) -> dict[str, Any]:
    """Rules, attacks, and of each pair the means over its runs (seeds) and how far they are."""
    there = cells(folder, runs)
    rows = _labels([(cell.row, cell.values) for cell in there], ROWS)
    columns = _labels([(cell.column, cell.values) for cell in there], COLUMNS)
    places: dict[tuple[str, str], list[Cell]] = {}
    for cell, row, column in zip(there, rows, columns, strict=True):
        places.setdefault((row, column), []).append(cell)
    return {
        "title": str(_planned(folder).get("title") or ""),
        "rules": list(dict.fromkeys(rows)),
        "attacks": sorted(dict.fromkeys(columns), key=lambda name: not name.startswith("none")),
        "cells": [{"rule": row, "attack": column} | _told(inner) for (row, column), inner in places.items()],
        "finished": sum(cell.status == "finished" for cell in there),
        "failed": sum(cell.status == "failed" for cell in there),
        "runs": len(there),
    }


def cells(folder: Path, runs: Iterable[Run]) -> list[Cell]:
    """The cells that sweep.json plans, and the runs that it does not know."""
    found = {run.path.name: run for run in runs}
    plan = _planned(folder)
    made: list[Cell] = []
    for one in plan.get("cells") or []:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            continue
        name, labels = one["name"], _table(one.get("labels"))
        values = _table(plan.get("common")) | _table(one.get("values"))
        run = found.pop(name, None)
        row = str(labels.get("method") or values.get("rule.name", "-"))
        made.append(Cell(name, row, values, _brief(run), _error(folder, name)))
    for name, run in found.items():
        brief = _brief(run)
        if brief is not None:
            made.append(Cell(name, brief["rule"], dict(_flat(run.experiment)), brief))
    return made


def _planned(folder: Path) -> dict[str, Any]:
    try:
        plan = table_in(folder / SWEEP, json.loads)
    except RecordError:
        return {}
    return plan if isinstance(plan.get("cells"), list) else {}


def _brief(run: Run | None) -> dict[str, Any] | None:
    brief = run.brief() if run is not None else {"problem": ""}
    return None if "problem" in brief else brief


def _error(folder: Path, name: str) -> str | None:
    """The last line of why a cell failed."""
    if Path(name).name != name:
        return None
    try:
        lines = (folder / ERRORS / f"{name}.txt").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return None
    return lines[-1][:300] if lines else "it failed"


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _labels(named: list[tuple[str, Mapping[str, Any]]], groups: tuple[str, ...]) -> list[str]:
    """Names, each with the values of these groups that differ between cells of that name."""
    alike: dict[str, list[Mapping[str, Any]]] = {}
    for name, values in named:
        alike.setdefault(name, []).append(values)
    differing = {name: _differing(inner, groups) for name, inner in alike.items()}
    return [
        " ".join([name, *(f"{key.partition('.')[2]}={values.get(key)}" for key in differing[name])])[:LONGEST]
        for name, values in named
    ]


def _differing(cells: list[Mapping[str, Any]], groups: tuple[str, ...]) -> list[str]:
    keys = sorted({key for values in cells for key in values if key.partition(".")[0] in groups})
    return [key for key in keys if len({repr(values.get(key)) for values in cells}) > 1]


def _told(inner: list[Cell]) -> dict[str, Any]:
    """What one rule reached under one attack: the mean of the finished runs or, before one is, of those begun."""
    briefs = [cell.brief for cell in inner if cell.brief is not None]
    begun = [brief for brief in briefs if brief["round"]]
    done = [brief for brief in begun if brief["status"] == "finished"]
    told: dict[str, Any] = {part: _mean(brief["figures"][part] for brief in done or begun) for part in PARTS}
    planned = sum(brief["rounds"] or 0 for brief in briefs) * len(inner) / max(1, len(briefs))
    return told | {
        "measure": begun[0]["figures"]["measure"] if begun else "accuracy",
        "runs": [brief["id"] for brief in briefs],
        "planned": len(inner),
        "finished": sum(cell.status == "finished" for cell in inner),
        "failed": sum(cell.status == "failed" for cell in inner),
        "error": next((cell.error for cell in inner if cell.error), None),
        "progress": min(1.0, sum(brief["round"] for brief in briefs) / planned) if planned else 0.0,
    }


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def sheet(folder: Path, runs: Iterable[Run]) -> Iterator[tuple[Any, ...]]:
    """The matrix as a table, a line a cell."""
    more = ("planned", "finished", "failed", "progress", "error")
    yield ("rule", "attack", "measure", *PARTS, *more)
    for cell in matrix(folder, runs)["cells"]:
        yield tuple(cell[name] for name in ("rule", "attack", "measure", *PARTS, *more))
