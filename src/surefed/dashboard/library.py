"""The runs below the folders that the dashboard was given, found again as they come and go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from surefed.dashboard.run import Run, stamp_of
from surefed.records.folder import RUN, below

SWEEP, CELLS = "sweep.json", "cells.csv"
MOST = 5000
"""Runs that are shown; a folder with more is cut there."""
PACE = 0.7
"""Seconds for which what was found counts as found."""


@dataclass
class Group:
    """A folder of runs. planned: whether it says itself that it is a sweep."""

    path: Path
    planned: bool = False
    runs: list[Run] = field(default_factory=list)

    def stamp(self) -> str:
        """Changes whenever a cell of a sweep begins or ends."""
        return stamp_of(self.path, (SWEEP, CELLS))


@dataclass
class Found:
    """What is there, by id."""

    runs: dict[str, Run] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    cut: bool = False

    def sweeps(self) -> dict[str, Group]:
        """The folders that can be shown as a matrix."""
        return {id: group for id, group in self.groups.items() if group.planned or len(group.runs) > 1}


class Library:
    """Runs by id. An id is only ever looked up, never made into a path."""

    def __init__(self, paths: Iterable[Path], clock: Callable[[], float] = time.monotonic) -> None:
        self._roots = _roots(paths)
        self._clock = clock
        self._lock = Lock()
        self._known: dict[Path, Run] = {}
        self._found: Found | None = None
        self._until = 0.0

    def found(self) -> Found:
        """What is there now; looked for anew at most every PACE seconds, less often where looking takes long."""
        with self._lock:
            started = self._clock()
            if self._found is None or started >= self._until:
                self._found = self._look()
                spent = self._clock() - started
                self._until = started + max(PACE, 10 * spent)
            return self._found

    def run(self, id: str) -> Run | None:
        """The run of that id."""
        return self.found().runs.get(id)

    def stamps(self) -> dict[str, str]:
        """Of each run a text that changes when it does, and of each planned sweep, its id ending in a slash."""
        found = self.found()
        stamps = {id: run.stamp() for id, run in found.runs.items()}
        return stamps | {f"{id}/": group.stamp() for id, group in found.groups.items() if group.planned}

    def _look(self) -> Found:
        found = Found()
        for label, root in self._roots.items():
            for path in below(root):
                parts = path.relative_to(root).parts
                id = "/".join((label, *parts))
                if not (path / RUN).is_file():
                    if (path / SWEEP).is_file():
                        found.groups.setdefault(id, Group(path)).planned = True
                    continue
                if len(found.runs) >= MOST:
                    found.cut = True
                    break
                run = found.runs[id] = self._known.get(path) or Run(id, path)
                if parts:
                    found.groups.setdefault("/".join((label, *parts[:-1])), Group(path.parent)).runs.append(run)
        self._known = {run.path: run for run in found.runs.values()}
        return found


def _roots(paths: Iterable[Path]) -> dict[str, Path]:
    """A short name for each given folder, no two alike."""
    roots: dict[str, Path] = {}
    for path in dict.fromkeys(path.resolve() for path in paths):
        name, number = path.name or "runs", 1
        label = name
        while label in roots:
            number += 1
            label = f"{name}-{number}"
        roots[label] = path
    return roots
