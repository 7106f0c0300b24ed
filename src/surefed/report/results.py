"""What a page is made of: cells with their settings, final figures, curves and snapshots of trust.

Full folders and the compact files of `surefed report --save` are both read into this, curves rounded alike, so that
both give the same tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from surefed.report.names import CLEAN

SERIES = ("score", "worst", "backdoor", "trusts_honest", "trusts_malicious")
"""What is kept of every evaluated round."""
Matrix = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Snapshot:
    """Who trusted whom. trusted, edges: [receiver, sender]; malicious: [client]"""

    round: int
    trusted: Matrix
    edges: Matrix
    malicious: Matrix


@dataclass(frozen=True)
class Curve:
    """Figures over rounds, in ten-thousandths; None where there is nothing to count."""

    rounds: tuple[int, ...] = ()
    series: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)

    def points(self, name: str) -> list[tuple[int, float]]:
        """Rounds and shares of one figure."""
        there = zip(self.rounds, self.series.get(name, ()), strict=False)
        return [(round, value / 1e4) for round, value in there if value is not None]


@dataclass(frozen=True)
class Cell:
    """One run.

    row: its line of cells.csv. values: all its settings by dotted name. labels: what its grid calls it.
    digest: equal for equal experiments, whatever they are called.
    """

    name: str
    row: Mapping[str, str]
    values: Mapping[str, Any]
    labels: Mapping[str, str]
    command: str
    curve: Curve = Curve()
    snapshots: tuple[Snapshot, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    digest: str = ""

    @property
    def status(self) -> str:
        """How far it is."""
        return self.row.get("status") or "waiting"

    @property
    def finished(self) -> bool:
        """Whether its figures count."""
        return self.status == "finished" and self.score is not None

    @property
    def method(self) -> str:
        """The label `method`, or else the rule."""
        return self.labels.get("method") or str(self.values.get("rule.name", "-"))

    @property
    def attack(self) -> str:
        """The label `attack`, or else the attack's name."""
        return self.labels.get("attack") or str(self.values.get("attack.name", CLEAN))

    @property
    def dataset(self) -> str:
        """The name of the data."""
        return str(self.values.get("data.name", "-"))

    @property
    def studies(self) -> list[str]:
        """The studies it belongs to; "" for the grid's own table."""
        return self.labels.get("study", "").split("+")

    @property
    def measure(self) -> str:
        """What it is measured by: accuracy or r2."""
        return "accuracy" if self.row.get("accuracy") or not self.row.get("r2") else "r2"

    @property
    def score(self) -> float | None:
        """The final mean score of the honest clients."""
        return self.figure(self.measure)

    def figure(self, name: str) -> float | None:
        """A final figure, or a count, of the table."""
        text = self.row.get(name, "")
        return float(text) if text else None

    def count(self, name: str) -> int:
        """A whole number of the table; 0 where there is none."""
        return int(self.figure(name) or 0)


@dataclass(frozen=True)
class Sweep:
    """A grid and its cells. name: of its folder; grid: its sweep.json."""

    name: str
    grid: Mapping[str, Any]
    cells: tuple[Cell, ...]

    @property
    def title(self) -> str:
        """For people."""
        return str(self.grid.get("title") or self.name)

    @property
    def quick(self) -> bool:
        """Whether it only rehearses."""
        return bool(self.grid.get("quick"))

    @property
    def keys(self) -> tuple[str, ...]:
        """The settings that its file varies; all settings where there is no file."""
        named = tuple(str(key) for key in self.grid.get("keys", ()))
        return named or tuple(dict.fromkeys(key for cell in self.cells for key in cell.values))

    @property
    def done(self) -> tuple[Cell, ...]:
        """The cells whose figures count."""
        return tuple(cell for cell in self.cells if cell.finished)


def trimmed(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Snapshots only of what a page shows: the lowest seed of each method and attack of the grid's own table."""
    shown: set[tuple[str, ...]] = set()
    kept: dict[str, Cell] = {cell.name: cell for cell in cells}
    for cell in sorted(kept.values(), key=lambda cell: cell.count("seed")):
        key = (cell.dataset, cell.method, cell.attack)
        if cell.snapshots and (key in shown or cell.studies != [""] or not cell.finished):
            kept[cell.name] = replace(cell, snapshots=())
        elif cell.snapshots:
            shown.add(key)
    return tuple(kept.values())
