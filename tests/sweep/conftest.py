"""A sweep that takes a moment, and a backend that runs cells in this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from surefed.sweep import Sweep
from surefed.sweep.events import Bundle, Event, order
from surefed.sweep.worker import play

SMALL = """\
name = "small"
rounds = 4
data = { clients = 4 }
model = { name = "linear" }
evaluate = { every = 2 }
"""
Write = Callable[[str], Path]
Ends = dict[str, list[Event]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a sweep file of small cells, given what it varies."""

    def file(text: str, *, small: str = SMALL) -> Path:
        path = tmp_path / "sweep.toml"
        path.write_text(small + text)
        return path

    return file


class Inline:
    """Runs cells at once, in this process; `ends` are what some cells come to instead, in turn."""

    def __init__(self, ends: Ends | None = None, size: int = 1) -> None:
        self.size, self.ends, self.closed, self.keep_beliefs = size, ends or {}, False, False
        self.started: list[str] = []
        self.bundles: list[list[str]] = []
        self.events: deque[Event] = deque()

    def start(self, bundle: Bundle) -> None:
        names = [cell.name for cell, _ in bundle]
        self.started += names
        self.bundles.append(names)
        self.events += [self.ends[name].pop(0) for name in names if self.ends.get(name)]
        told = {event.cell for event in self.events}
        orders = [order(cell, place, "cpu", self.keep_beliefs) for cell, place in bundle if cell.name not in told]
        if orders:
            play(orders, self._tell)

    def _tell(self, message: dict[str, Any]) -> None:
        self.events.append(Event(message["cell"], message["kind"], message.get("round", 0), message.get("text", "")))

    def next(self, timeout: float) -> Event | None:
        return self.events.popleft() if self.events else None

    def stop(self) -> None:
        for name in {event.cell for event in self.events}:
            self.events.append(Event(name, "interrupted"))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Inline]:
    """Drive sweeps with an inline backend; give it back to see what was started."""

    def use(ends: Ends | None = None) -> Inline:
        backend = Inline(ends)

        def made(folder: Path, sweep: Sweep, *given: object) -> Inline:
            backend.keep_beliefs = sweep.keep_beliefs
            return backend

        monkeypatch.setattr("surefed.sweep.drive._backend", made)
        return backend

    return use
