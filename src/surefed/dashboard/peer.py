"""What an operator wants to know of a peer: who was heard when, what was refused and why, what runs out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from surefed.core import RecordError
from surefed.dashboard.run import Run

EVENTS = "events.jsonl"
LAST = 1 << 16
"""Bytes at the end of events.jsonl that are looked at."""
SHOWN = 60
"""Events, and rounds of each neighbour, that are shown."""
VERDICTS = ("trusted", "distrusted", "missing", "malformed", "equivocated")
COUNTS = ("expected", "heard", "trusted", "distrusted", "missing", "malformed", "last_heard")


def peer(run: Run) -> dict[str, Any]:
    """A peer now: what it does, its neighbours, its last rounds and events."""
    if run.site is None:
        raise RecordError("this is the record of a simulation, not of a peer")
    try:
        now = run.now
    except RecordError:
        now = {}  # it has not begun, or its file is being replaced: the rounds can be told all the same
    table = run.table()
    recent = list(zip(table.rounds, table.verdicts, strict=True))[-SHOWN:]
    told: dict[str, Any] = {name: _plain(now.get(name)) for name in ("doing", "why", "at", "transport", "federation")}
    told |= {
        name: _number(now.get(name)) for name in ("certificate_days", "disk_free", "jumped", "deadline", "staleness")
    }
    return told | {
        "site": run.site,
        "round": table.rounds[-1] if table.rounds else 0,
        "rounds": run.experiment.get("rounds") if isinstance(run.experiment.get("rounds"), int) else None,
        "present": [str(site) for site in _list(now.get("present"))],
        "recent": [round for round, _ in recent],
        "neighbours": [_neighbour(site, now, recent) for site in run.clients if site != run.site],
        "events": events(run.path / EVENTS),
    }


def _neighbour(site: str, now: dict[str, Any], recent: list[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    counted = _table(_table(now.get("neighbours")).get(site))
    refused = _table(counted.get("refused"))
    lines = [_table(verdicts.get(site)) for _, verdicts in recent]
    return {
        "site": site,
        **{name: _number(counted.get(name)) for name in COUNTS},
        "refused": {str(reason): count for reason, count in refused.items() if isinstance(count, int)},
        "verdicts": [_verdict(line) for line in lines],
        "why": _plain(lines[-1].get("why")) if lines else "",
    }


def _verdict(line: dict[str, Any]) -> str:
    found = str(line.get("verdict", ""))
    return found if found in VERDICTS else ""


def events(path: Path) -> list[dict[str, Any]]:
    """The last things that happened, newest first; a torn line is left out."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - LAST))
            lines = file.read().split(b"\n")[:-1]
    except OSError:
        return []
    found = []
    for text in lines[-SHOWN:]:
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict):
            found.append({name: _plain(line.get(name)) for name in ("round", "at", "kind", "site", "text")})
    return found[::-1]


def sheet(run: Run) -> Iterator[tuple[Any, ...]]:
    """The neighbours as a table."""
    told = peer(run)["neighbours"]
    reasons = sorted({reason for one in told for reason in one["refused"]})
    yield ("site", *COUNTS, *(f"refused: {reason}" for reason in reasons))
    for one in told:
        yield (one["site"], *(one[name] for name in COUNTS), *(one["refused"].get(reason, 0) for reason in reasons))


def _plain(value: object) -> str:
    return "" if value is None else str(value)[:500]


def _number(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and abs(value) < 1e300 else None


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
