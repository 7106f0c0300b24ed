"""Cells that belong into one table, and their means over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from surefed.report.names import KEYS
from surefed.report.results import Cell, Sweep

SILENT = ("seed", "name", "checkpoint_every", "rule.name", "attack.name", "data.name")
"""Settings that are no axis of a study: seeds are averaged over, and the names are rows, columns and tables."""


class Mean(NamedTuple):
    """A figure over seeds: its mean, and the lowest and highest seed."""

    mean: float
    low: float
    high: float
    seeds: int


@dataclass(frozen=True)
class Group:
    """Finished cells of one study and one dataset.

    study: its label, "" for the grid's own table. axes: what differs between cells of one method under one attack,
    seeds aside; none where method and attack tell all.
    """

    sweep: Sweep
    study: str
    dataset: str
    cells: tuple[Cell, ...]
    axes: tuple[str, ...]

    @property
    def name(self) -> str:
        """For files and anchors."""
        datasets = {cell.dataset for cell in self.sweep.done if self.study in cell.studies}
        return "-".join([self.sweep.name, *filter(None, [self.study]), *([self.dataset] if len(datasets) > 1 else [])])

    def values(self, name: str) -> list[str]:
        """The methods or attacks or settings there are, as they come."""
        return list(dict.fromkeys(str(getattr(cell, name)) for cell in self.cells))

    def settings(self) -> list[str]:
        """The settings along the axes, in the order of their values where these are numbers."""
        first = {self.setting(cell): cell for cell in reversed(self.cells)}
        return sorted(first, key=lambda text: (_rank(self, first[text]), self._order(text)))

    def _order(self, text: str) -> int:
        return next(at for at, cell in enumerate(self.cells) if self.setting(cell) == text)

    def setting(self, cell: Cell) -> str:
        """Where a cell stands on the axes, in words."""
        parts = []
        for axis in self.axes:
            value = at(cell, axis)
            if value is not None:
                alone = len(self.axes) == 1 or axis.endswith(".name") or axis in cell.labels
                parts.append(said(value) if alone else f"{axis.rpartition('.')[2]} {said(value)}")
        return ", ".join(parts) or "default"

    def shared(self) -> frozenset[int]:
        """The seeds of every method under every attack that it was run with."""
        seeds: dict[tuple[str, str], set[int]] = {}
        for cell in self.cells:
            seeds.setdefault((cell.method, cell.attack), set()).add(cell.count("seed"))
        return frozenset(set.intersection(*seeds.values())) if seeds else frozenset()

    @property
    def axis(self) -> str:
        """What is varied, in words."""
        return ", ".join(KEYS.get(axis, axis) for axis in self.axes)


def groups(sweep: Sweep) -> list[Group]:
    """The tables that a sweep gives."""
    apart: dict[tuple[str, str], list[Cell]] = {}
    for cell in sweep.done:
        for study in cell.studies:
            apart.setdefault((study, cell.dataset), []).append(cell)
    return [
        Group(sweep, study, dataset, tuple(cells), _axes(sweep, cells)) for (study, dataset), cells in apart.items()
    ]


def mean(cells: Iterable[Cell], figure: str = "score") -> Mean | None:
    """A final figure over seeds; none where no cell has it."""
    found = [cell.score if figure == "score" else cell.figure(figure) for cell in cells]
    shares = [share for share in found if share is not None]
    return Mean(sum(shares) / len(shares), min(shares), max(shares), len(shares)) if shares else None


def at(cell: Cell, axis: str) -> Any:
    """A cell's label or setting."""
    return cell.labels[axis] if axis in cell.labels else cell.values.get(axis)


def said(value: Any) -> str:
    """A setting for people."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (list, tuple)):
        return " ".join(map(said, value)) or "none"
    return str(value)


def _axes(sweep: Sweep, cells: Sequence[Cell]) -> tuple[str, ...]:
    """Labels that all cells of a study have are its axes; else the settings that differ."""
    columns = dict.fromkeys(label for cell in cells for label in cell.labels)
    labels = [
        label for label in columns
        if label not in ("method", "attack", "study")
        and all(cell.labels.get(label) for cell in cells)
        and _differs(cells, label)
    ]  # fmt: skip
    if labels:
        return tuple(labels)
    return tuple(key for key in sweep.keys if key not in SILENT and _differs(cells, key))


def _differs(cells: Sequence[Cell], axis: str) -> bool:
    """Whether cells of one method under one attack differ along an axis."""
    seen: dict[tuple[str, str], Any] = {}
    return any(seen.setdefault((cell.method, cell.attack), at(cell, axis)) != at(cell, axis) for cell in cells)


def _rank(group: Group, cell: Cell) -> float:
    """Numbers in their order, words before them."""
    value = at(cell, group.axes[0]) if group.axes else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else float("-inf")
