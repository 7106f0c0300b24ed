"""What whoever runs cells tells whoever drives the sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from surefed.sweep.grid import Cell

Kind = Literal["round", "finished", "failed", "interrupted", "died"]


class Event(NamedTuple):
    """Something that happened to a cell; died: whoever ran it is gone, or may be harmed, so that it is tried again."""

    cell: str
    kind: Kind
    round: int = 0
    text: str = ""


Bundle = Sequence[tuple[Cell, Path]]
"""Cells that are run together, and where their records are; mostly one."""


class Backend(Protocol):
    """Runs cells somewhere, as many bundles at a time as it has room for."""

    @property
    def size(self) -> int:
        """How many bundles run at a time."""
        ...

    def start(self, bundle: Bundle) -> None:
        """Run a bundle; there must be room."""
        ...

    def next(self, timeout: float) -> Event | None:
        """What happened next, or nothing within the timeout."""
        ...

    def stop(self) -> None:
        """Ask everybody to save a checkpoint and stop; each running cell will still be heard of."""
        ...

    def close(self) -> None:
        """End everything, at once."""
        ...


def order(cell: Cell, place: Path, device: str, keep_beliefs: bool) -> dict[str, Any]:
    """All that running a cell takes, as plain values."""
    given = cell.experiment.model_dump(mode="json", exclude_unset=True)
    what = {"cell": cell.name, "experiment": given, "place": str(place)}
    return what | {"device": device, "keep_beliefs": keep_beliefs}
