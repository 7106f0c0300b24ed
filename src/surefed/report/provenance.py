"""Where the figures come from: what was made smaller, what is missing, and how to run each cell again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from surefed.report.names import METHODS, few
from surefed.report.paper_figures import CLIENTS, ROUNDS
from surefed.report.results import Cell, Sweep
from surefed.report.table import Entry, Table
from surefed.report.tables import points


def duration(seconds: float) -> str:
    """Seconds for people."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def overview(sweeps: Iterable[Sweep]) -> Table:
    """A row per sweep: how large it is, and what is smaller than in the paper."""
    rows = []
    for sweep in sweeps:
        done, cells = sweep.done, sweep.cells
        rows.append([
            Entry(sweep.title, (sweep.name,)),
            Entry(f"{len(done)} of {len(cells)}", tone="" if len(done) == len(cells) else "bad"),
            Entry(_several(cell.count("rounds") for cell in done)),
            Entry(_several(cell.count("clients") for cell in done)),
            Entry(_several(cell.count("malicious") for cell in done)),
            Entry(str(len({cell.count("seed") for cell in done}))),
            Entry(duration(sum(cell.figure("seconds") or 0 for cell in cells))),
            Entry(", ".join(sorted({cell.row.get("device", "") for cell in done} - {""})) or "-"),
            Entry("; ".join(reduced(sweep)) or "nothing"),
        ])  # fmt: skip
    return Table(
        "sweeps",
        "What was run",
        [
            "Sweep",
            "Finished cells",
            "Rounds",
            "Clients",
            "Malicious",
            "Seeds",
            "Time",
            "Device",
            "Smaller than the paper",
        ],
        rows,
        f"The paper: {CLIENTS} clients, {ROUNDS} rounds, 40 % malicious; it does not say how many seeds.",
        words=frozenset({0, 7, 8}),
    )


def reduced(sweep: Sweep) -> list[str]:
    """What is smaller than in the paper."""
    found = ["quick: a rehearsal that proves nothing"] if sweep.quick else []
    for name, full in (("rounds", ROUNDS), ("clients", CLIENTS)):
        fewer = sorted({cell.count(name) for cell in sweep.done if cell.count(name) < full})
        if fewer:
            found.append(f"{' or '.join(map(str, fewer))} {name} instead of {full}")
    return found


def unfinished(sweeps: Iterable[Sweep]) -> Table | None:
    """The cells whose figures are in no table; those that nobody has begun, a row per method."""
    rows = []
    for sweep in sweeps:
        waiting: dict[str, list[Cell]] = {}
        for cell in sweep.cells:
            if cell.status == "waiting":
                waiting.setdefault(cell.method, []).append(cell)
            elif not cell.finished:
                status = Entry(cell.status, tone="bad" if cell.status == "failed" else "fair")
                rows.append(_left(sweep, cell.name, status, [cell], cell.row.get("error") or "-"))
        for method, some in waiting.items():
            rows.append(_left(sweep, METHODS.get(method, method), Entry("waiting", tone="fair"), some, "-"))
    if not rows:
        return None
    columns = ["Cell or method", "Status", "Cells", "Seeds", "Rounds", "Error"]
    return Table("unfinished", "Unfinished and failed cells", columns, rows, words=frozenset({0, 1, 5}))


def _left(sweep: Sweep, name: str, status: Entry, some: Sequence[Cell], error: str) -> list[Entry]:
    asked = sorted({str(cell.row.get("rounds") or cell.values.get("rounds", "?")) for cell in some})
    return [
        Entry(name, (sweep.name,)),
        status,
        Entry(str(len(some))),
        Entry(_several(cell.count("seed") for cell in some)),
        Entry(f"{max(cell.count('round') for cell in some)} of {' or '.join(asked)}"),
        Entry(error),
    ]


def cells(sweep: Sweep) -> Table:
    """Every cell with its command."""
    rows = [
        [Entry(cell.name), Entry(cell.status), Entry(_points(cell.score)), Entry(_points(cell.figure("worst"))),
         Entry(duration(cell.figure("seconds") or 0)), Entry(cell.row.get("device") or "-"),
         Entry(cell.command, code=True)]
        for cell in sweep.cells
    ]  # fmt: skip
    return Table(
        f"{sweep.name}-cells",
        f"{sweep.title}: every cell",
        ["Cell", "Status", "Accuracy", "Worst client", "Time", "Device", "Run it again"],
        rows,
        tidy=[_tidy(cell) for cell in sweep.cells],
        words=frozenset({0, 1, 5, 6}),
    )


def versions(sweep: Sweep) -> list[str]:
    """The versions that cells were run with, each set once."""
    found = dict.fromkeys(
        ", ".join(f"{name} {version}" for name, version in cell.versions.items()) for cell in sweep.cells
    )
    return [text for text in found if text]


def commands(sweep: Sweep) -> list[str]:
    """The commands of the sweep's sessions, each once."""
    return list(dict.fromkeys(str(one["command"]) for one in sweep.grid.get("sessions", ()) if one.get("command")))


def remarks(sweep: Sweep) -> list[str]:
    """What a reader must know of the cells, each notice once with the cells it is about."""
    about: dict[str, list[str]] = {}
    for cell in sweep.done:
        for notice in cell.notices:
            about.setdefault(notice, []).append(cell.name)
    return [f"{notice} ({few(names)})" for notice, names in about.items()]


def _several(counts: Iterable[int]) -> str:
    found = sorted(set(counts))
    if len(found) > 3:
        return f"{found[0]} to {found[-1]}"
    return ", ".join(map(str, found)) or "-"


def _points(share: float | None) -> str:
    return "-" if share is None else points(share)


def _tidy(cell: Cell) -> dict[str, str]:
    return {**cell.row, "command": cell.command}
