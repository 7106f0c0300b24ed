"""Cells and sweeps made by hand."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from surefed.report.gather import curve
from surefed.report.results import Cell, Sweep

VERSIONS = {"surefed": "0.1.0", "torch": "2.9"}


def values(
    method: str, attack: str, *, data: str = "mnist", seed: int = 0, rounds: int = 8000, **more: Any
) -> dict[str, Any]:
    rule = {"surefed_paper": "paper"}.get(method, method)
    plain = {"rule.name": rule, "attack.name": attack, "attack.malicious": 0.4, "data.name": data}
    return {**plain, "seed": seed, "rounds": rounds, **{key.replace("__", "."): value for key, value in more.items()}}


def line(at: int, score: float, **more: Any) -> dict[str, Any]:
    told = {"round": at, "accuracy": {"mean": score, "worst": score - 0.01}}
    return {**told, "trusted": {"honest": 1.0, "malicious": 0.25}, **more}


def row(
    name: str, set_to: Mapping[str, Any], score: float | None, status: str = "finished", **more: Any
) -> dict[str, str]:
    told = {"cell": name, "status": status, "quick": "false", "seed": set_to["seed"], "rounds": set_to["rounds"]}
    told |= {"round": set_to["rounds"] if score is not None else 0, "clients": 50, "malicious": 20, "accuracy": score}
    told |= {"worst": score, "seconds": 1.5, "device": "cpu", "error": "", **more}
    return {key: "" if value is None else str(value) for key, value in told.items()}


def cell(
    method: str, attack: str, score: float | None, *, status: str = "finished", labels: Mapping[str, str] | None = None,
    figures: Mapping[str, Any] | None = None, **more: Any,
) -> Cell:  # fmt: skip
    set_to = values(method, attack, **more)
    name = f"{method}-{attack}-s{set_to['seed']}" + "".join(f"-{value}" for value in more.values())
    lines = [line(at, score * at / 100) for at in (50, 100)] if score is not None else []
    told = {"method": method, **(labels or {})}
    return Cell(name, row(name, set_to, score, status, **(figures or {})), set_to, told, "surefed run x", curve(lines))


def sweep(
    cells: Iterable[Cell], *, name: str = "mnist", quick: bool = False, keys: tuple[str, ...] = ("rule.name",)
) -> Sweep:
    grid = {"format": 1, "name": name, "title": f"title of {name}", "quick": quick, "keys": list(keys), "sessions": []}
    return Sweep(name, grid, tuple(cells))


def write_sweep(
    path: Path, plans: Iterable[Mapping[str, Any]], *, title: str = "a sweep", quick: bool = False, started: str = ""
) -> Path:
    """A sweep's folder on the disk. A plan has name, labels, values and score; None for a cell that failed.

    status: of a cell without a score, if it did not fail. versions: those that a cell was run with.
    """
    rows, cells = [], []
    for plan in plans:
        name, set_to, score = plan["name"], plan["values"], plan["score"]
        extra = plan.get("figures", {})
        status = "finished" if score is not None else plan.get("status", "failed")
        fields = {"error": "OSError: no room in /home/somebody/data/x.bin"} if status == "failed" else extra
        rows.append(row(name, set_to, score, status, **fields))
        cells.append({"name": name, "digest": digest(set_to), "labels": plan["labels"], "values": {**set_to}})
        if score is not None:
            _write_record(path / name, set_to, score, plan)
    path.mkdir(parents=True, exist_ok=True)
    session = {"command": "surefed sweep a.toml --out /home/somebody/runs", "device": "cpu", "versions": VERSIONS}
    session |= {"started": started} if started else {}
    grid = {"format": 1, "name": path.name, "title": title, "quick": quick, "file": "a.toml", "settings": []}
    grid |= {"labels": ["method"], "keys": ["rule.name", "attack.name"], "sessions": [session], "common": {}}
    (path / "sweep.json").write_text(json.dumps({**grid, "cells": cells}))
    with (path / "cells.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for one in rows for key in one)), restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def digest(set_to: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(set_to, sort_keys=True).encode(), digest_size=16).hexdigest()


def _write_record(place: Path, set_to: Mapping[str, Any], score: float, plan: Mapping[str, Any]) -> None:
    place.mkdir(parents=True, exist_ok=True)
    text = f'seed = 0\nrounds = 8000\n[rule]\nname = {json.dumps(set_to["rule.name"])}\n[attack]\nname = "x"\n'
    (place / "experiment.toml").write_text(text)
    run = {
        "clients": ["a", "b", "c"],
        "malicious": ["c"],
        "device": "cpu",
        "versions": plan.get("versions", VERSIONS),
        "notices": ["take care"],
    }
    (place / "run.json").write_text(json.dumps(run))
    lines = [line(at, score * at / 8000, **plan.get("line", {})) for at in (4000, 8000)]
    (place / "rounds.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    (place / "result.json").write_text("{}")
    (place / "trust").mkdir(exist_ok=True)
    for at in (4000, 8000):
        edges = ~np.eye(3, dtype=bool)
        malicious = np.array([False, False, True])
        np.savez(place / "trust" / f"{at:06d}.npz", trusted=edges & ~malicious, edges=edges, malicious=malicious)


def plans(
    methods: Iterable[str] = ("surefed", "zeno"), attacks: Iterable[str] = ("label_flip", "trojan", "none")
) -> list[dict[str, Any]]:
    """Two seeds of every method under every attack; the second seed is two points better."""
    made = []
    for method in methods:
        for attack in attacks:
            for seed in (0, 1):
                plan: dict[str, Any] = {"name": f"{method}-{attack}-s{seed}", "labels": {"method": method}}
                plan |= {"values": values(method, attack, seed=seed), "score": 0.9 + 0.02 * seed}
                if attack == "trojan":
                    plan["figures"] = {"backdoor": 0.3, "backdoor_worst": 0.4, "trusts_malicious": 0.25}
                    plan["line"] = {"backdoor": {"mean": 0.3, "worst": 0.4}}
                made.append(plan)
    return made
