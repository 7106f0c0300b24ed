"""How far a sweep is, and how long the rest will take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from surefed.sweep.folder import Folder, Status
from surefed.sweep.grid import Cell


@dataclass
class Board:
    """The state of every cell that is asked for while a sweep is driven.

    size: bundles of cells at a time. round: complete rounds of begun cells. since: when, and at which round, a cell was
    started. bundle: all that a cell was started with, itself among them. speed: seconds that a round adds, as
    measured, by kind of cell.
    """

    folder: Folder
    size: int = 1
    status: dict[str, Status] = field(default_factory=dict)
    round: dict[str, int] = field(default_factory=dict)
    since: dict[str, tuple[float, int]] = field(default_factory=dict)
    bundle: dict[str, tuple[str, ...]] = field(default_factory=dict)
    speed: dict[tuple[Any, ...], float] = field(default_factory=dict)

    @classmethod
    def look(cls, folder: Folder, size: int = 1, only: Sequence[str] = ()) -> Board:
        """As the folder is now, with nobody at work; of cells that match a pattern, where some are given."""
        board = cls(folder, size)
        for cell in folder.sweep.named(only):
            board.status[cell.name] = folder.status(cell)
            row = folder.row(cell)
            board.round[cell.name] = row["round"]
            if row["round"]:
                board.speed[kind(cell)] = row["seconds"] / row["round"]
        return board

    @cached_property
    def cells(self) -> Mapping[str, Cell]:
        """The cells by name."""
        return {cell.name: cell for cell in self.folder.sweep.cells}

    def named(self, status: Status) -> list[str]:
        """The cells of that status, in order."""
        return [name for name, has in self.status.items() if has == status]

    def todo(self) -> list[str]:
        """The cells that are neither finished nor failed, in order."""
        return [name for name, has in self.status.items() if has not in ("finished", "failed")]

    def count(self) -> Counter[Status]:
        """How many cells there are of each status."""
        return Counter(self.status.values())

    def start(self, *bundle: str) -> None:
        """Cells were started together, or one by itself."""
        for name in bundle:
            self.status[name], self.bundle[name] = "running", bundle
            self.since[name] = time.monotonic(), self.round.get(name, 0)

    def bundles(self) -> set[tuple[str, ...]]:
        """The bundles that are under way."""
        return {self.bundle[name] for name in self.named("running")}

    def advance(self, name: str, round: int) -> None:
        """A cell came to a round."""
        begun, first = self.since[name]
        if round - first >= 2:
            self.speed[kind(self.cells[name])] = (time.monotonic() - begun) / (round - first) / len(self.bundle[name])
        self.round[name] = round

    def left(self) -> float | None:
        """Seconds until all cells are done, if what is measured so far holds; None where nothing is measured yet."""
        work: dict[tuple[str, ...], float] = {}  # cells of a bundle take turns
        for name in self.todo():
            seconds = self.left_of(name)
            if seconds is None:
                return None
            key = self.bundle.get(name, (name,)) if self.status[name] == "running" else (name,)
            work[key] = work.get(key, 0.0) + seconds
        return max(sum(work.values()) / self.size, *work.values(), 0.0)

    def left_of(self, name: str) -> float | None:
        """Seconds that one cell still takes, by cells of its kind or, failing that, of any kind."""
        if not self.speed:
            return None
        cell, usual = self.cells[name], sum(self.speed.values()) / len(self.speed)
        return (cell.experiment.rounds - self.round.get(name, 0)) * self.speed.get(kind(cell), usual)

    def summary(self) -> str:
        """All of it in a line."""
        count, left = self.count(), self.left()
        words = [f"{count['finished']} of {len(self.status)} cells finished"]
        words += [f"{count[status]} {status}" for status in ("running", "failed") if count[status]]
        if left:
            words.append(f"about {duration(left)} left")
        return ", ".join(words)


def kind(cell: Cell) -> tuple[Any, ...]:
    """Cells of one kind take about the same time a round."""
    keys = ("rule.name", "rule.before", "data.name", "data.clients", "model.name", "learn.kind", "attack.name")
    return *(cell.values.get(key) for key in keys), cell.values.get("rule.kappa") == "auto"


def duration(seconds: float) -> str:
    """Seconds for people."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"
