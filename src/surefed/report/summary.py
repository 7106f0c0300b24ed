"""A record in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from surefed.core import RecordError
from surefed.records import Record, read
from surefed.records.folder import RUN
from surefed.report.history import apart_since, fall, notices
from surefed.report.score import measure_of

DEPTH = 4
"""How deep below a given folder records are looked for."""


def find(paths: list[Path]) -> list[Record]:
    """The records at these paths: each the folder of a run, or a folder below which there are such folders."""
    records = []
    for path in paths:
        inner = _below(path, DEPTH)
        if not inner:
            raise RecordError(f"{path} is neither the folder of a run nor a folder of runs")
        records += [read(at) for at in inner]
    return records


def _below(path: Path, depth: int) -> list[Path]:
    if (path / RUN).is_file():
        return [path]
    if not depth or not path.is_dir():
        return []
    inner = sorted(at for at in path.iterdir() if not at.name.startswith(".") and at.is_dir() and not at.is_symlink())
    return [found for at in inner for found in _below(at, depth - 1)]


def summary(record: Record) -> dict[str, Any]:
    """The figures that people compare. Shares are None where there is nobody to trust.

    `measure` says which figure counts, accuracy or r2; the run has it under that name.
    """
    last = record.rounds[-1] if record.rounds else {}
    measure = measure_of(record)
    merit, trusted, found = (last.get(key, {}) for key in (measure, "trusted", "detection"))
    dip = fall(record)
    return {
        "name": record.experiment.get("name"),
        "rule": record.experiment["rule"]["name"],
        "attack": record.experiment["attack"]["name"],
        "clients": len(record.run["clients"]),
        "malicious": len(record.run["malicious"]),
        "round": last.get("round", 0),
        "rounds": record.experiment["rounds"],
        "finished": record.finished,
        "measure": measure,
        measure: merit.get("mean"),
        "worst": merit.get("worst"),
        "backdoor": last.get("backdoor", {}).get("mean"),
        "trusts_honest": trusted.get("honest"),
        "trusts_malicious": trusted.get("malicious"),
        "precision": found.get("precision"),
        "recall": found.get("recall"),
        "apart_since": apart_since(record),
        "poisoned": dip is not None,
        "recovered": dip.recovered if dip is not None else None,
        "notices": notices(record),
        "seconds": sum(line["rounds"] + line["evaluate"] for line in record.timing),
        "folder": str(record.path),
    }
