"""A record in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from surefed.core import RecordError
from surefed.records import Record, read
from surefed.records.folder import RUN, below
from surefed.report.history import apart_since, fall, notices
from surefed.report.score import measure_of


def find(paths: list[Path]) -> list[Record]:
    """The records at these paths: each the folder of a run, or a folder below which there are such folders."""
    records = []
    for path in paths:
        inner = [folder for folder in below(path) if (folder / RUN).is_file()]
        if not inner:
            raise RecordError(f"{path} is neither the folder of a run nor a folder of runs")
        records += [read(at) for at in inner]
    return records


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
