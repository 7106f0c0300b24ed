"""Sweeps reduced to small files that can be committed, and read again.

    cells.csv      the table of the sweep, as it was
    sweep.json     its grid and sessions; the folders of commands are left out
    common.toml    what all cells have in common: an experiment, which --set turns into any cell
    curves.json    figures over rounds in ten-thousandths, versions and notices
    trust.json     a few snapshots of who trusts whom, a row of bits as hexadecimal digits

A page made from these files has the same figures as one made from the full folders. Cells that were saved before are
kept (merge.py): those of one grid come from several sessions and machines.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surefed.core import RecordError
from surefed.report.grid import SWEEP, TABLE, read_grid, read_rows
from surefed.report.merge import Merged, merge
from surefed.report.names import slug
from surefed.report.results import Cell, Curve, Matrix, Snapshot, Sweep
from surefed.report.together import READY, settle, write_together

CURVES, TRUST, COMMON = "curves.json", "trust.json", "common.toml"
FORMAT = 1
FIX = "take the folder back from where it is kept, such as git, or delete it and `surefed report --save` again"
Plan = Callable[[Mapping[str, Any]], Sequence[Cell] | None]
"""Given a sweep.json, the cells that its file asks for today; None where nobody knows."""


def is_compact(path: Path) -> bool:
    """Whether a folder was written by `save`, even if one of its files is lost."""
    return any((path / name).exists() for name in (CURVES, TRUST, READY))


def save(sweeps: Sequence[Sweep], out: Path, plan: Plan = lambda grid: None) -> list[tuple[Path, Merged]]:
    """Add each sweep to what is below `out` under its name, a single one to `out` itself; where, and what came of it.

    Everything is read before anything is written, so that what is refused changes nothing.
    """
    places = [out] if len(sweeps) == 1 else [out / slug(sweep.name) for sweep in sweeps]
    made = [
        merge(_before(place, sweep), _anywhere(sweep), plan(sweep.grid))
        for sweep, place in zip(sweeps, places, strict=True)
    ]
    for place, merged in zip(places, made, strict=True):
        write_together(place, _files(merged.sweep))
    return list(zip(places, made, strict=True))


def _before(place: Path, sweep: Sweep) -> Sweep | None:
    """What was saved of the same grid before."""
    if place.exists() and not place.is_dir():
        raise RecordError(f"{place} is a file; --save to another folder")
    if (place / "run.json").exists() or ((place / SWEEP).exists() and not is_compact(place)):
        raise RecordError(f"{place} holds full records, which must not be overwritten; --save to another folder")
    if not is_compact(place):
        return None
    before = read(place)
    if _which(before) != _which(sweep):
        raise RecordError(
            f"{place} holds the results of {_which(before)}, and these are of {_which(sweep)}; "
            "--save to another folder, or delete that one"
        )
    return before


def _which(sweep: Sweep) -> str:
    """Which grid a sweep is of, whatever its folder is called."""
    if "file" not in sweep.grid:
        return "single runs"
    return f"the grid {str(sweep.grid.get('name'))!r}" + (", quick" if sweep.quick else "")


def _anywhere(sweep: Sweep) -> Sweep:
    """A sweep without the folders of the machine it was on."""
    grid = {**sweep.grid, "sessions": [_told(session) for session in sweep.grid.get("sessions", [])]}
    if "file" in grid:
        grid["file"] = _short(str(grid["file"]))
    return replace(sweep, grid=grid)


def _files(sweep: Sweep) -> dict[str, str]:
    """The files of a sweep by name."""
    grid = {**sweep.grid, **_plans(sweep)}
    common = {key: value for key, value in grid["common"].items() if value is not None}
    return {
        TABLE: _table(sweep.cells),
        SWEEP: _lines(grid, "cells"),
        COMMON: "".join(f"{_key(key)} = {_value(value)}\n" for key, value in common.items()),
        CURVES: _curves(sweep),
        TRUST: _trust(sweep),
    }


def _plans(sweep: Sweep) -> dict[str, Any]:
    """What the cells of a grid have in common, and of each what is left; single runs are left whole."""
    first = sweep.cells[0].values if "file" in sweep.grid else {}
    shared = [key for key in first if all(cell.values.get(key) == first[key] for cell in sweep.cells)]
    cells = [
        {"name": cell.name, "digest": cell.digest, "labels": dict(cell.labels),
         "values": {key: value for key, value in cell.values.items() if key not in shared}}
        for cell in sweep.cells
    ]  # fmt: skip
    return {"common": {key: first[key] for key in shared}, "cells": cells}


def _curves(sweep: Sweep) -> str:
    grids: list[tuple[int, ...]] = []
    versions: list[Mapping[str, str]] = []
    cells: dict[str, dict[str, Any]] = {}
    for cell in sweep.cells:
        if not (cell.versions or cell.curve.rounds or cell.notices):  # never begun
            continue
        series = {name: _packed(values) for name, values in cell.curve.series.items()}
        cells[cell.name] = {"rounds": _index(grids, cell.curve.rounds), "versions": _index(versions, cell.versions)}
        cells[cell.name] |= {"notices": list(cell.notices), **series}
    told: dict[str, Any] = {"format": FORMAT, "name": sweep.name, "rounds": grids, "versions": versions}
    return _lines({**told, "cells": cells}, "cells")


def _trust(sweep: Sweep) -> str:
    trust = {cell.name: [_bits(one) for one in cell.snapshots] for cell in sweep.cells if cell.snapshots}
    return _lines({"format": FORMAT, "cells": trust}, "cells")


def read(path: Path) -> Sweep:
    """A sweep that was saved."""
    settle(path)
    grid, rows = read_grid(path, FIX), read_rows(path / TABLE, FIX)
    curves, trust = _json(path / CURVES), _json(path / TRUST)
    cells = []
    try:
        for plan in grid["cells"]:
            name, own = str(plan["name"]), plan.get("values", {})
            about = curves["cells"].get(name)
            curve, versions, said = Curve(), {}, ()
            if about is not None:
                rounds = tuple(curves["rounds"][about["rounds"]])
                others = ("rounds", "versions", "notices")
                series = {key: _unpacked(one, len(rounds)) for key, one in about.items() if key not in others}
                curve, versions, said = Curve(rounds, series), curves["versions"][about["versions"]], about["notices"]
            cells.append(
                Cell(
                    name,
                    rows[name],  # of every cell there is one: without it, a finished cell would seem to wait
                    {**grid.get("common", {}), **own},
                    plan.get("labels", {}),
                    command(path, own),
                    curve,
                    tuple(_snapshot(one) for one in trust["cells"].get(name, ())),
                    versions,
                    tuple(said),
                    str(plan.get("digest") or name),
                )
            )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise RecordError(f"{path} is damaged ({error!r}); {FIX}") from error
    return Sweep(str(curves.get("name") or path.resolve().name), grid, tuple(cells))


def command(path: Path, own: Mapping[str, Any]) -> str:
    """The command that runs a cell again: names first, because a new name forgets the options of the one before."""
    settings = sorted(own.items(), key=lambda item: not item[0].endswith(".name"))
    parts = ["surefed", "run", str(path / COMMON)]
    for key, value in settings:
        if value is not None:
            parts += ["--set", f"{key}={value if _is_word(value) else _value(value)}"]
    return shlex.join(parts)


def _is_word(value: Any) -> bool:
    """Whether --set takes a value for text as it stands, without quotes."""
    return isinstance(value, str) and bool(re.fullmatch(r"(?!(?:true|false|inf|nan)$)[A-Za-z]\w*", value, re.ASCII))


def _told(session: Mapping[str, Any]) -> dict[str, Any]:
    """A session without the folders of the machine it was on."""
    return {**session, "command": " ".join(_short(part) for part in str(session.get("command", "")).split())}


def _short(text: str) -> str:
    return re.sub(r"(^|=)[~/]\S*/", r"\1", text)


def _table(cells: Iterable[Cell]) -> str:
    rows = [dict(cell.row) for cell in cells]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _lines(value: Mapping[str, Any], spread: str) -> str:
    """JSON with a line for every key, and one for every entry of `spread`: small, and readable in a diff."""
    parts = []
    for key, inner in value.items():
        if key == spread and isinstance(inner, dict):
            rows = ",\n".join(f"  {json.dumps(name)}: {_tight(one)}" for name, one in inner.items())
            parts.append(f' "{key}": {{\n{rows}\n }}')
        elif key == spread:
            rows = ",\n".join(f"  {_tight(one)}" for one in inner)
            parts.append(f' "{key}": [\n{rows}\n ]')
        else:
            parts.append(f" {json.dumps(key)}: {_tight(inner)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _tight(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _key(key: str) -> str:
    """A dotted name in TOML."""
    return ".".join(part if re.fullmatch(r"[\w-]+", part, re.ASCII) else json.dumps(part) for part in key.split("."))


def _value(value: Any) -> str:
    """A value in TOML, which spells texts, numbers and lists of them as JSON does; tables are flat by now."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _index(known: list[Any], value: Any) -> int:
    if value not in known:
        known.append(value)
    return known.index(value)


def _packed(values: Sequence[int | None]) -> Any:
    """A series; a single value where it never changes."""
    return values[0] if len(set(values)) == 1 else list(values)


def _unpacked(packed: Any, length: int) -> tuple[int | None, ...]:
    return tuple(packed) if isinstance(packed, list) else (packed,) * length


def _bits(snapshot: Snapshot) -> dict[str, Any]:
    told = {"round": snapshot.round, "malicious": _hex(snapshot.malicious), "clients": len(snapshot.malicious)}
    told["trusted"] = [_hex(row) for row in snapshot.trusted]
    if not snapshot.edges.all():
        told["edges"] = [_hex(row) for row in snapshot.edges]
    return told


def _snapshot(told: Mapping[str, Any]) -> Snapshot:
    clients = int(told["clients"])
    trusted = np.array([_unhex(row, clients) for row in told["trusted"]])
    edges = np.array([_unhex(row, clients) for row in told["edges"]]) if "edges" in told else np.ones_like(trusted)
    return Snapshot(int(told["round"]), trusted, edges, _unhex(told["malicious"], clients))


def _hex(bits: Matrix) -> str:
    return np.packbits(bits.astype(bool)).tobytes().hex()


def _unhex(text: str, count: int) -> Matrix:
    return np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8), count=count).astype(bool)


def _json(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise RecordError(f"{path} is damaged ({error}); {FIX}") from error
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise RecordError(f"{path} is not what this version reads; update SureFED, or --save to another folder")
    return told
