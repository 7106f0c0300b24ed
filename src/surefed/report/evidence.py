"""The figures that claims are decided by: full cells only, rehearsals never."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TypeVar

from surefed.report.groups import Group, Mean, groups, mean, said
from surefed.report.names import CLEAN, FORMS, TROJAN
from surefed.report.results import Cell, Sweep
from surefed.report.tables import rounds, where

Key = TypeVar("Key")
MALICIOUS = 0.4
"""The share of the paper's tables (section 5, first sentence)."""


class Evidence:
    """What was measured: of each dataset the table with the most rounds, and every study.

    form: the method that is SureFED here; claims are about "surefed", and other forms of it go by that name then.
    """

    def __init__(self, sweeps: Iterable[Sweep], form: str = FORMS[0]) -> None:
        sweeps = [_as_ours(sweep, form) for sweep in sweeps]
        self._main: dict[str, Group] = {}
        self._studies: dict[tuple[str, str], Group] = {}
        self._apart: set[str] = set()  # datasets of which cells are compared that share no seed
        for group in (group for sweep in sweeps if not sweep.quick for group in groups(sweep)):
            if group.study:
                _keep(self._studies, (group.study, group.dataset), group)
            elif not group.axes and all(map(_as_in_the_paper, group.cells)):
                _keep(self._main, group.dataset, group)

    def fair(self, dataset: str, methods: Collection[str], attacks: Collection[str]) -> Evidence:
        """The same, but of this dataset only the seeds that all cells of these methods under these attacks share.

        Seeds draw clients and weights, and differ by more than many a method does. Where none is shared, all count.
        """
        group = self._main.get(dataset)
        if group is None:
            return self
        cells = [where(group, method, attack) for method in methods for attack in attacks]
        seeds = [{cell.count("seed") for cell in some} for some in cells if some]
        shared = set.intersection(*seeds) if seeds else set()
        kept = copy.copy(self)
        kept._apart = self._apart | ({dataset} if seeds and not shared else set())
        if not shared:
            return kept
        same = tuple(cell for cell in group.cells if cell.count("seed") in shared)
        kept._main = {**self._main, dataset: replace(group, cells=same)}
        return kept

    def seeds(self, dataset: str, method: str, attack: str) -> int:
        """How many seeds there are of a method under an attack."""
        group = self._main.get(dataset)
        return 0 if group is None else len(where(group, method, attack))

    def score(self, dataset: str, method: str, attack: str) -> float | None:
        """The mean final accuracy of a method under an attack."""
        found = self._figure(dataset, method, attack, "score")
        return None if found is None else found.mean

    def backdoor(self, dataset: str, method: str) -> float | None:
        """The mean final backdoor accuracy of a method under Trojan."""
        found = self.backdoors(dataset, method)
        return None if found is None else found.mean

    def backdoors(self, dataset: str, method: str) -> Mean | None:
        """The same, with the lowest and the highest seed."""
        return self._figure(dataset, method, TROJAN, "backdoor")

    def _figure(self, dataset: str, method: str, attack: str, figure: str) -> Mean | None:
        group = self._main.get(dataset)
        return None if group is None else mean(where(group, method, attack), figure)

    def study(self, name: str, dataset: str, method: str, attack: str, axis: str) -> dict[str, float]:
        """The mean final accuracy at every value of a setting."""
        group = self._studies.get((name, dataset))
        apart: dict[str, list[Cell]] = {}
        for cell in where(group, method, attack) if group is not None else []:
            apart.setdefault(said(cell.values.get(axis)), []).append(cell)
        figures = {value: mean(cells) for value, cells in apart.items()}
        return {value: figure.mean for value, figure in figures.items() if figure is not None}

    def extent(self, dataset: str) -> str:
        """How far the table of a dataset goes."""
        group = self._main.get(dataset)
        if group is None:
            return ""
        seeds = len({cell.count("seed") for cell in group.cells})
        told = f"{rounds(group.cells)} rounds, {max(_clients(group))} clients"
        told = f"{told}, {seeds} seed{'s' if seeds > 1 else ''}"
        return f"{told}, not the same for all" if dataset in self._apart else told


def _as_ours(sweep: Sweep, form: str) -> Sweep:
    """A sweep in which a form of SureFED goes by its name, and no other is left."""
    kept = (cell for cell in sweep.cells if cell.method == form or cell.method not in FORMS)
    return replace(sweep, cells=tuple(_renamed(cell) if cell.method == form else cell for cell in kept))


def _renamed(cell: Cell) -> Cell:
    return replace(cell, labels={**cell.labels, "method": FORMS[0]})


def _keep(kept: dict[Key, Group], key: Key, group: Group) -> None:
    """Keep the group that goes furthest."""
    if key not in kept or _extent(group) > _extent(kept[key]):
        kept[key] = group


def _as_in_the_paper(cell: Cell) -> bool:
    return cell.attack == CLEAN or cell.values.get("attack.malicious") == MALICIOUS


def _clients(group: Group) -> list[int]:
    return [cell.count("clients") for cell in group.cells]


def _extent(group: Group) -> tuple[int, int]:
    return max(cell.count("rounds") for cell in group.cells), len(group.cells)
