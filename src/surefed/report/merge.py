"""Add a sweep to what was saved of its grid before: cells of one grid come from several sessions and machines.

Which cells there should be is what the grid's file says. What was saved of them stays until it is run again; what the
file no longer asks for is dropped, so that results never mix two versions of a grid. Where the file is not at hand, or
has changed since the runs, nobody can tell what it would say of cells that only the old results have: they stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from surefed.report.names import CLEAN, few
from surefed.report.results import Cell, Sweep, trimmed

UNSAID = ("name", "checkpoint_every")
"""Settings that do not tell experiments apart."""
Key = tuple[str, str]


@dataclass(frozen=True)
class Merged:
    """A sweep together with what was saved of its grid before.

    Of the cells that were finished before, kept: not finished by these runs; replaced, dropped: of other settings, and
    finished again, or not yet; gone: not in the grid any more; doubtful: kept, though perhaps gone as well.
    changed: the settings that were others. outdated: finished by these runs, but the grid's file has changed since.
    """

    sweep: Sweep
    kept: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """What a person should know of it."""
        why, file = f"settings changed: {few(self.changed)}", self.sweep.grid.get("file")
        told = [
            ("kept", self.kept, "saved before"),
            ("replaced", self.replaced, why),
            ("dropped", self.dropped, f"not finished again yet; {why}"),
            ("dropped", self.gone, "no longer in the grid"),
            ("unsure of", self.doubtful, f"perhaps no longer in the grid; {file} is not here or has changed since"),
            ("saved", self.outdated, f"though {file} asks for something else now"),
        ]
        return [f"{verb} {_counted(names)} ({reason}): {few(names)}" for verb, names, reason in told if names]


def merge(before: Sweep | None, runs: Sweep, plan: Sequence[Cell] | None) -> Merged:
    """What is to be saved. plan: the cells that the grid's file asks for today; None where nobody knows."""
    old, new = _by_key(before.cells if before is not None else (), runs), _by_key(runs.cells, runs)
    planned = _by_key(plan or (), runs)
    known = new.keys() <= planned.keys()
    if known:
        columns = dict.fromkeys(key for cell in (*new.values(), *old.values()) for key in cell.row)
        places = {key: replace(cell, row=_row(cell, columns, runs.quick)) for key, cell in planned.items()}
    else:
        places = _by_key(_union(old, new), runs)
    found = {key: max((new.get(key, cell), old.get(key, cell)), key=_progress) for key, cell in places.items()}
    cells = trimmed(_in_place(cell, places[key], runs) for key, cell in found.items())
    grid = dict(runs.grid)
    if before is not None and any(cell is old.get(key) for key, cell in found.items()):
        grid["sessions"] = _sessions(before, runs)
    sweep = replace(runs, grid=grid, cells=cells)
    outdated = tuple(cell.name for key, cell in new.items() if planned and cell.finished and key not in planned)
    return replace(_told(sweep, old, new, known), outdated=outdated)


def _by_key(cells: Iterable[Cell], runs: Sweep) -> dict[Key, Cell]:
    """Cells by what makes them the same: in a grid the experiment, of single runs also what they are called."""
    return {(cell.digest, "" if "file" in runs.grid else cell.name): cell for cell in cells}


def _union(old: Mapping[Key, Cell], new: Mapping[Key, Cell]) -> Iterable[Cell]:
    """Every cell once, the old ones first; of two with one name, the new one."""
    both = [*(new.get(key, cell) for key, cell in old.items()), *new.values()]
    return {cell.name: cell for cell in both}.values()


def _progress(cell: Cell) -> tuple[bool, bool]:
    """How far a cell is: one that is finished says more than one that failed, which says more than one that waits."""
    return cell.finished, cell.status != "waiting"


def _in_place(cell: Cell, place: Cell, runs: Sweep) -> Cell:
    """A cell as the grid calls it now; its figures, and what it was made with, are its own."""
    names = [column for column in ("cell", "folder", *runs.grid.get("labels", ())) if column in place.row]
    row = {**place.row, **cell.row, **{column: place.row[column] for column in names}}
    return replace(cell, name=place.name, row=row, values=place.values, labels=place.labels)


def _row(cell: Cell, columns: Iterable[str], quick: bool) -> dict[str, str]:
    """What the table of a sweep says of a cell that waits."""
    told: dict[str, Any] = {**cell.values, **cell.labels, "cell": cell.name, "folder": cell.name, "status": "waiting"}
    told |= {"quick": quick, "round": 0, "seconds": 0}
    if cell.values.get("attack.name") == CLEAN:
        told["attack.malicious"] = 0.0
    return {column: _written(told.get(column)) for column in ("cell", "status", *columns)}


def _written(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sessions(before: Sweep, runs: Sweep) -> list[Any]:
    """The sessions of both, each once, in the order of time."""
    both = [*before.grid.get("sessions", ()), *runs.grid.get("sessions", ())]
    once = [session for at, session in enumerate(both) if session not in both[:at]]
    return sorted(once, key=lambda session: str(session.get("started", "")))


def _told(sweep: Sweep, old: Mapping[Key, Cell], new: Mapping[Key, Cell], known: bool) -> Merged:
    """What became of the cells that were finished before."""
    now, by_name = _by_key(sweep.cells, sweep), {cell.name: cell for cell in sweep.cells}
    lost = [cell for key, cell in old.items() if cell.finished and key not in now]
    other = [cell.name for cell in lost if cell.name in by_name]
    kept = {key: cell.name for key, cell in now.items() if cell.finished and not (key in new and new[key].finished)}
    unknown = "file" in sweep.grid and not known
    return Merged(
        sweep,
        kept=tuple(kept.values()),
        replaced=tuple(name for name in other if by_name[name].finished),
        dropped=tuple(name for name in other if not by_name[name].finished),
        changed=tuple(dict.fromkeys(key for cell in lost for key in _changed(cell, by_name.get(cell.name, cell)))),
        gone=tuple(cell.name for cell in lost if cell.name not in by_name),
        doubtful=tuple(name for key, name in kept.items() if unknown and key not in new),
    )


def _changed(one: Cell, other: Cell) -> list[str]:
    """The settings in which two cells differ."""
    keys = sorted((one.values.keys() | other.values.keys()) - set(UNSAID))
    return [key for key in keys if one.values.get(key) != other.values.get(key)]


def _counted(names: Sequence[str]) -> str:
    return f"{len(names)} cell{'s' if len(names) > 1 else ''}"
