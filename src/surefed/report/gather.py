"""Find sweeps and runs below some folders, and read what a page needs of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefed.core import RecordError
from surefed.records import Record, read
from surefed.report import compact
from surefed.report.grid import SWEEP, TABLE, read_grid, read_rows
from surefed.report.history import notices
from surefed.report.names import SWEEPS
from surefed.report.results import SERIES, Cell, Curve, Snapshot, Sweep, trimmed
from surefed.report.score import MEASURES
from surefed.report.together import READY

SNAPSHOTS = 6
"""Snapshots of trust that are kept of a run: the first, the last, and some between."""
FIGURES = {
    "loss": ("loss", "mean"), "local_accuracy": ("local_accuracy", "mean"), "backdoor": ("backdoor", "mean"),
    "backdoor_worst": ("backdoor", "worst"), "backdoor_floor": ("backdoor", "floor"),
    "trusts_honest": ("trusted", "honest"), "trusts_malicious": ("trusted", "malicious"),
    "precision": ("detection", "precision"), "recall": ("detection", "recall"),
}  # fmt: skip
"""Columns of a single run's row, named as in a sweep's table, and where its last line has them."""


def gather(paths: Iterable[Path]) -> list[Sweep]:
    """The sweeps at these paths: sweeps, single runs, what `surefed report --save` wrote, or folders of any of them."""
    places: list[Path] = []
    loose: list[Path] = []
    for path in paths:
        found = _places(path)
        if not found:
            raise RecordError(
                f"{path} holds neither a sweep ({SWEEP} and {TABLE}) nor a run (run.json); "
                "give the folder that `surefed sweep`, `surefed paper` or `surefed run` wrote"
            )
        for place in found:
            group = places if _is_sweep(place) else loose
            if place.resolve() not in [other.resolve() for other in group]:
                group.append(place)
    sweeps = [compact.read(place) if compact.is_compact(place) else _sweep(place) for place in places]
    if loose:
        sweeps.append(_single(loose))
    return _distinct(sorted(sweeps, key=_turn))


def _places(path: Path) -> list[Path]:
    """A sweep, a run, or the sweeps and runs one or two folders below; the cells of a sweep are its own."""
    if _is_sweep(path) or (path / "run.json").exists():
        return [path]
    if not path.is_dir():
        return []
    inner = sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    direct = [entry for entry in inner if _is_sweep(entry) or (entry / "run.json").exists()]
    deeper = [place for entry in inner if entry not in direct for place in sorted(entry.iterdir())]
    return direct + [place for place in deeper if _is_sweep(place) and not place.name.startswith(".")]


def _is_sweep(path: Path) -> bool:
    """Whether a folder is a sweep's; the first save into it may have been killed with its files on their way."""
    return (path / SWEEP).exists() or (path / READY / SWEEP).exists()


def _turn(sweep: Sweep) -> tuple[bool, int]:
    """Rehearsals last, and the paper's parts in its order."""
    name = str(sweep.grid.get("name"))
    return sweep.quick, SWEEPS.index(name) if name in SWEEPS else len(SWEEPS)


def _distinct(sweeps: list[Sweep]) -> list[Sweep]:
    """Each with a name of its own: files and anchors are called after it."""
    seen: dict[str, int] = {}
    named = []
    for sweep in sweeps:
        seen[sweep.name] = times = seen.get(sweep.name, 0) + 1
        named.append(sweep if times == 1 else replace(sweep, name=f"{sweep.name}-{times}"))
    return named


def _sweep(path: Path) -> Sweep:
    """The folder of a sweep."""
    grid, rows = read_grid(path), read_rows(path / TABLE)
    cells = []
    for plan in grid["cells"]:
        name = str(plan["name"])
        place = path / name
        record = read(place) if (place / "run.json").exists() else None
        values = {**grid.get("common", {}), **plan.get("values", {})}
        labels = {key: str(text) for key, text in plan.get("labels", {}).items()}
        row = rows.get(name, {"cell": name, "status": "waiting"})
        cell = replace(_cell(name, row, values, labels, record, place), digest=str(plan.get("digest") or name))
        cells.append(cell if record is not None else replace(cell, command=_sweep_command(grid, path)))
    return Sweep(path.resolve().name, grid, trimmed(cells))


def _sweep_command(grid: Mapping[str, Any], path: Path) -> str:
    """The command that goes on with a sweep: what is left for a cell that was never begun."""
    parts = ["surefed", "sweep", str(grid.get("file", "FILE")), "--out", str(path)]
    parts += ["--quick"] if grid.get("quick") else []
    for setting in grid.get("settings", ()):
        parts += ["--set", str(setting)]
    return shlex.join([*parts, "--retry-failed"])


def _single(places: list[Path]) -> Sweep:
    """Runs that belong to no sweep, as if they were one."""
    cells, taken = [], set()
    for place in places:
        record = read(place)
        if record.run.get("kind") == "peer":
            raise RecordError(f"{place} is the folder of a peer, which knows of no attack; `surefed show` reads it")
        name, times = place.resolve().name, 1
        while name in taken:
            times += 1
            name = f"{place.resolve().name}-{times}"
        taken.add(name)
        values = _flat(record.experiment)
        cell = _cell(name, _row(name, record, values), values, {}, record, place)
        cells.append(replace(cell, digest=str(record.run.get("identity") or name)))
    grid = {"format": 1, "name": "runs", "title": "Single runs", "quick": False, "labels": [], "keys": []}
    return Sweep("runs", {**grid, "sessions": []}, trimmed(cells))


def _cell(
    name: str, row: Mapping[str, str], values: Mapping[str, Any], labels: Mapping[str, str], record: Record | None,
    place: Path,
) -> Cell:  # fmt: skip
    command = f"surefed run {shlex.quote(str(place / 'experiment.toml'))}"
    if record is None:
        return Cell(name, row, values, labels, command)
    versions = {key: str(text) for key, text in record.run.get("versions", {}).items()}
    return Cell(
        name, row, values, labels, command, curve(record.rounds), _snapshots(record), versions, tuple(notices(record))
    )


def curve(lines: list[dict[str, Any]]) -> Curve:
    """The figures of every evaluated round."""
    series: dict[str, list[int | None]] = {name: [] for name in SERIES}
    for line in lines:
        merit: dict[str, Any] = next((line[name] for name in MEASURES if name in line), {})
        trusted = line.get("trusted", {})
        found = {
            "score": merit.get("mean"),
            "worst": merit.get("worst"),
            "backdoor": line.get("backdoor", {}).get("mean"),
            "trusts_honest": trusted.get("honest"),
            "trusts_malicious": trusted.get("malicious"),
        }
        for name, value in found.items():
            series[name].append(None if value is None else round(1e4 * float(value)))
    told = {name: tuple(values) for name, values in series.items() if any(value is not None for value in values)}
    return Curve(tuple(int(line["round"]) for line in lines), told)


def _snapshots(record: Record) -> tuple[Snapshot, ...]:
    """A few rounds of who trusts whom, of runs whose rule is SureFED's."""
    if record.experiment["rule"]["name"] != "surefed":
        return ()
    rounds = record.trust_rounds()
    kept = sorted(
        {rounds[round(at * (len(rounds) - 1) / (SNAPSHOTS - 1))] for at in range(SNAPSHOTS)} if rounds else ()
    )
    found = [(at, record.trust(at)) for at in kept]
    return tuple(Snapshot(at, one["trusted"], one["edges"], one["malicious"]) for at, one in found)


def _row(name: str, record: Record, values: Mapping[str, Any]) -> dict[str, str]:
    """What a sweep's table would say of a single run."""
    last = record.rounds[-1] if record.rounds else {}
    merit: dict[str, Any] = next((last[name] for name in MEASURES if name in last), {})
    row: dict[str, Any] = {"cell": name, "status": "finished" if record.finished else "interrupted", "quick": "false"}
    row |= {key: values.get(key) for key in ("data.name", "rule.name", "attack.name", "attack.malicious", "graph.name")}
    row |= {"seed": values.get("seed"), "rounds": values.get("rounds"), "round": last.get("round", 0)}
    row |= {key: len(record.run[key]) for key in ("clients", "malicious")}
    row |= {"worst": merit.get("worst")} | {key: last.get(key, {}).get("mean") for key in ("accuracy", "r2", "rmse")}
    row |= {key: last.get(table, {}).get(inner) for key, (table, inner) in FIGURES.items()}
    row["seconds"] = round(sum(line["rounds"] + line["evaluate"] for line in record.timing), 3)
    row |= {"device": record.run.get("device"), "folder": name, "error": None}
    return {key: "" if value is None else str(value) for key, value in row.items()}


def _flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Values by dotted name."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return flat
