"""What became of a federation over its rounds: when the camps parted, and whether it was poisoned and recovered."""

from __future__ import annotations

import math
from dataclasses import dataclass

from surefed.records import Record
from surefed.report.score import percent, score

FALL = 0.05
"""A mean score this far below its best so far is a poisoned one."""
BACK = 0.01
"""A mean score at most this far below its best before the fall has recovered."""


@dataclass(frozen=True, slots=True)
class Fall:
    """The deepest fall of the honest clients' mean score below its best so far.

    best: the best before it. lowest: the score at its bottom. round: the round of the bottom.
    recovered: whether the last score is back at the best before it, to within BACK.
    """

    best: float
    lowest: float
    round: int
    recovered: bool


def apart_since(record: Record) -> int | None:
    """The first evaluated round from which on no honest client trusted a malicious neighbour, to the last; or none.

    None as well where there is nobody malicious to trust.
    """
    since: int | None = None
    for line in reversed(record.rounds):
        if line["trusted"]["malicious"] != 0:
            break
        since = int(line["round"])
    return since


def fall(record: Record) -> Fall | None:
    """The deepest fall, if the score ever fell by FALL or more."""
    deepest: Fall | None = None
    best = -math.inf
    last = score(record.rounds[-1]).mean if record.rounds else 0.0
    for line in record.rounds:
        now = score(line).mean
        if best - now >= max(FALL, deepest.best - deepest.lowest if deepest else 0.0):
            deepest = Fall(best, now, int(line["round"]), recovered=last >= best - BACK)
        best = max(best, now)
    return deepest


def story(record: Record) -> str:
    """What became of it, in half a line; empty where there is nothing to tell."""
    words = []
    dip, since = fall(record), apart_since(record)
    if dip is not None:
        bottom = f"fell from {percent(dip.best).removesuffix(' %')} to {percent(dip.lowest)} at round {dip.round}"
        words.append(f"{bottom} and recovered" if dip.recovered else f"{bottom} and did not recover")
    if since is not None and since > 1:
        words.append(f"trusts no malicious neighbour since round {since}")
    return ", ".join(words)


def notices(record: Record) -> list[str]:
    """What a reader of the figures must know about how they came about."""
    found = [str(notice) for notice in record.run.get("notices", [])]
    bounds = [line["bound"] for line in record.rounds if line.get("bound", {}).get("cut")]
    if bounds:
        worst = max(bounds, key=lambda bound: bound["told"] - bound["used"])
        found.append(
            f"{record.experiment['rule']['name']} is defined for {record.run.get('bound', 'fewer malicious senders')}; "
            f"told of {worst['told']}, it reckoned with {worst['used']} ({worst['cut']} honest clients)"
        )
    return found
