"""The rounds of a run as columns, read as the file grows: a line is parsed once."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HUGE = 1e300
"""Numbers from here on are no figures; neither is NaN, which is not smaller than anything."""
MARK = 64
"""Bytes before the place reached that must still be there, or the file is another one."""


@dataclass(frozen=True)
class Table:
    """Lines of a .jsonl file, as numbers by dotted name; nobody changes it.

    rounds: the round of each line. columns: of each figure a number a line, NaN where the line has none.
    verdicts: of each line of a peer's record what became of each neighbour, empty in a simulation.
    """

    rounds: list[int]
    columns: dict[str, list[float]]
    verdicts: list[dict[str, Any]]

    @property
    def last(self) -> dict[str, float | None]:
        """The figures of the last line."""
        return {name: known(column[-1]) for name, column in self.columns.items()} if self.rounds else {}


class Tail:
    """The whole lines of a growing .jsonl file.

    A file that was replaced, cut or taken away is read from its start again; a torn last line waits for its rest.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._forget()

    def _forget(self) -> None:
        self._lines = Table([], {}, [])
        self._table: Table | None = None
        self._inode, self._at, self._mark = 0, 0, b""

    def read(self) -> Table:
        """All lines; only those added since the last time are parsed."""
        try:
            with self.path.open("rb") as file:
                inode = self.path.stat().st_ino
                file.seek(max(0, self._at - len(self._mark)))
                if inode != self._inode or file.read(len(self._mark)) != self._mark:
                    self._forget()
                    file.seek(0)
                self._inode = inode
                self._take(file.read())
        except OSError:
            self._forget()
        if self._table is None:
            lines = self._lines
            columns = {name: list(column) for name, column in lines.columns.items()}
            self._table = Table(list(lines.rounds), columns, list(lines.verdicts))
        return self._table

    def _take(self, fresh: bytes) -> None:
        start = 0
        while (end := fresh.find(b"\n", start)) >= 0:
            line = parsed(fresh[start:end])
            if line is None:
                break
            self._add(line)
            start = end + 1
        self._at += start
        self._mark = (self._mark + fresh[:start])[-MARK:]

    def _add(self, line: dict[str, Any]) -> None:
        rounds, columns, self._table = self._lines.rounds, self._lines.columns, None
        neighbours = line.pop("neighbours", None)
        self._lines.verdicts.append(neighbours if isinstance(neighbours, dict) else {})
        values: dict[str, float] = {}
        flatten(line, "", values)
        for name in values.keys() - columns.keys():
            columns[name] = [math.nan] * len(rounds)
        for name, column in columns.items():
            column.append(values.get(name, math.nan))
        rounds.append(line["round"])


def parsed(text: bytes) -> dict[str, Any] | None:
    """The line of a round, or None if it is torn or no round."""
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict):
        return None
    round = line.get("round")
    return line if isinstance(round, int) and not isinstance(round, bool) and round >= 0 else None


def flatten(line: Mapping[str, Any], before: str, values: dict[str, float]) -> None:
    """Put the numbers of a line into `values` by dotted name; what is no number is left out."""
    for name, value in line.items():
        kind = type(value)
        if kind is dict:
            flatten(value, f"{before}{name}.", values)
        elif (kind is float or kind is int) and abs(value) < HUGE:
            values[before + name] = float(value)


def known(value: float) -> float | None:
    """A number for JSON, which has no NaN."""
    return value if math.isfinite(value) else None
