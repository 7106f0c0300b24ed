"""One run's folder, read as it is at this moment: finished, growing, cut off or damaged."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock
from typing import Any

from surefed.core import RecordError
from surefed.dashboard.tail import Table, Tail, known, parsed
from surefed.records.folder import EXPERIMENT, RESULT, ROUNDS, RUN

PEER = "peer.json"
"""What a peer says of itself now."""
MEASURES = ("accuracy", "r2")
LAST = 1 << 16
"""Bytes at the end of rounds.jsonl in which its last line is looked for."""
QUIET = 120.0
"""Seconds without news after which an unfinished run counts as stopped."""

Stamp = tuple[int, ...]
Reader = Callable[[str], Any]


class Run:
    """A run's folder. Parts are read when asked for, and again when their file has changed."""

    def __init__(self, id: str, path: Path) -> None:
        self.id, self.path = id, path
        self._lock = Lock()
        self._tail = Tail(path / ROUNDS)
        self._last: tuple[Stamp, dict[str, Any]] = ((), {})
        self._parts: dict[str, tuple[Stamp, Any]] = {}

    def stamp(self) -> str:
        """Changes whenever the record does."""
        return stamp_of(self.path, (RUN, ROUNDS, RESULT, PEER))

    def _part(self, name: str, read: Reader) -> dict[str, Any]:
        """A file's table, cached by its stamp."""
        path = self.path / name
        stamp = _stamp(path)
        with self._lock:
            if name not in self._parts or self._parts[name][0] != stamp:
                self._parts[name] = (stamp, table_in(path, read))
            value: dict[str, Any] = self._parts[name][1]
            return value

    @property
    def about(self) -> dict[str, Any]:
        """run.json, its lists of names checked."""
        about = self._part(RUN, json.loads)
        for key in ("clients", "malicious"):
            if not isinstance(about.get(key, []), list):
                raise RecordError(f"{self.path / RUN} is damaged: {key} is no list")
        return about

    @property
    def experiment(self) -> dict[str, Any]:
        """experiment.toml."""
        return self._part(EXPERIMENT, tomllib.loads)

    @property
    def site(self) -> str | None:
        """The name of the peer whose record this is; None in a simulation."""
        return str(self.about.get("site", "")) if self.about.get("kind") == "peer" else None

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return (self.path / RESULT).exists()

    @property
    def clients(self) -> list[str]:
        """Everybody's name."""
        return [str(name) for name in self.about.get("clients", [])]

    @property
    def layers(self) -> list[tuple[str, int]]:
        """The layers, in the order of their weights, and how many weights each has."""
        found = self.about.get("layers", {})
        known_sizes = isinstance(found, dict) and all(isinstance(size, int) for size in found.values())
        return [(str(name), size) for name, size in found.items()] if known_sizes else []

    @property
    def now(self) -> dict[str, Any]:
        """peer.json."""
        return self._part(PEER, json.loads)

    def table(self) -> Table:
        """All rounds, up to now."""
        with self._lock:
            return self._tail.read()

    def last(self) -> dict[str, Any]:
        """The last whole line of rounds.jsonl, without reading those before it."""
        stamp = _stamp(self.path / ROUNDS)
        if self._last[0] == stamp:
            return self._last[1]
        try:
            with (self.path / ROUNDS).open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - LAST))
                lines = file.read().split(b"\n")[:-1]
        except OSError:
            return {}
        found = next((line for line in map(parsed, reversed(lines)) if line is not None), {})
        self._last = (stamp, found)
        return found

    def status(self) -> str:
        """finished, running, stopped, or waiting for its first round."""
        if self.finished:
            return "finished"
        heard = max(_modified(self.path / name) for name in (RUN, ROUNDS, PEER))
        if time.time() - heard > QUIET:
            return "stopped"
        return "running" if (self.path / ROUNDS).exists() else "waiting"

    def brief(self) -> dict[str, Any]:
        """What a list of runs says of this one; of a damaged one, what is wrong with it."""
        said: dict[str, Any] = {"id": self.id, "folder": self.path.name, "stamp": self.stamp()}
        try:
            plan, about, last = self.experiment, self.about, self.last()
            said |= {
                "kind": "run" if self.site is None else "peer",
                "site": self.site,
                "name": str(plan.get("name") or self.path.name),
                "rule": _name_of(plan, "rule"),
                "attack": _name_of(plan, "attack"),
                "seed": _number(plan.get("seed")),
                "clients": len(about.get("clients", [])),
                "malicious": len(about.get("malicious", [])),
                "rounds": _number(plan.get("rounds")),
                "round": last.get("round", 0),
                "status": self.status(),
                "changed": max(_modified(self.path / name) for name in (RUN, ROUNDS)),
            }
            return said | {"figures": figures(last)}
        except (RecordError, OSError) as error:
            return said | {"name": self.path.name, "status": "damaged", "problem": str(error)}


def figures(line: dict[str, Any]) -> dict[str, Any]:
    """The figures of a line that runs are compared by; None where it has none."""

    def at(group: str, name: str) -> float | None:
        value = line[group].get(name) if isinstance(line.get(group), dict) else None
        return known(float(value)) if isinstance(value, (int, float)) else None

    measure = next((name for name in MEASURES if name in line), MEASURES[0])
    return {
        "measure": measure,
        "mean": at(measure, "mean"),
        "worst": at(measure, "worst"),
        "backdoor": at("backdoor", "mean"),
        "honest": at("trusted", "honest"),
        "malicious": at("trusted", "malicious"),
    }


def table_in(path: Path, read: Reader) -> dict[str, Any]:
    """A file's table; a damaged or half-written one is a RecordError."""
    try:
        value = read(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RecordError(f"{path} is damaged or being written: {error}") from error
    if not isinstance(value, dict):
        raise RecordError(f"{path} is damaged: it is no table")
    return value


def _name_of(plan: dict[str, Any], part: str) -> str:
    table = plan.get(part)
    return str(table.get("name", "-")) if isinstance(table, dict) else "-"


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def stamp_of(folder: Path, names: Iterable[str]) -> str:
    """Changes whenever one of these files does."""
    return "-".join(f"{number:x}" for name in names for number in _stamp(folder / name))


def _stamp(path: Path) -> Stamp:
    try:
        stat = path.stat()
    except OSError:
        return (0,)
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
