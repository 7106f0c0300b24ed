"""Who trusted whom in a round, pair by pair, for federations small enough to be shown so."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from surefed.core import FAULTS, RecordError
from surefed.dashboard.run import Run
from surefed.dashboard.snapshots import Array, Snapshot, place, rounds, snapshot

WHOLE = 256
"""Clients up to which a page is given every pair; beyond, sums over groups of them."""
NONE, DISTRUSTED, TRUSTED = 0, 1, 2
"""What a pair may be: no edge, heard and left out, heard and trusted."""
BUDGET = 1 << 26
"""Bytes of snapshots that are kept in memory."""


@dataclass(frozen=True)
class Pairs:
    """A snapshot of a small federation.

    states: NONE, DISTRUSTED or TRUSTED. outside: weights outside the band. worst: the weight most stds away.
    sigmas: how many. heading: how well the ways from the start agree. fault: an index of core.FAULTS, why it was left
    out. All [receiver, sender]; all but the first only under rules that have such a thing.
    merit: accuracy or R2. [client] malicious, overwritten: [client]
    """

    states: Array
    outside: Array | None
    worst: Array | None
    sigmas: Array | None
    heading: Array | None
    fault: Array | None
    merit: Array | None
    malicious: Array | None
    overwritten: Array | None

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(value.nbytes for value in (getattr(self, at.name) for at in fields(self)) if value is not None)


class Cache:
    """Keeps what was used last, up to a number of bytes."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._budget, self._held = budget, 0
        self._kept: OrderedDict[Any, Pairs] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Any, make: Callable[[], Pairs]) -> Pairs:
        """The value of that key, made if it is not there."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = made
                self._held += made.size
            while self._held > self._budget and len(self._kept) > 1:
                self._held -= self._kept.popitem(last=False)[1].size
        return made


CACHE = Cache()


def snapshots_of(run: Run) -> list[int]:
    """The rounds of which it is known who trusted whom: a simulation's snapshots, a peer's every round."""
    return rounds(run.path) if run.site is None else run.table().rounds


def clients_in(run: Run, round: int) -> int:
    """How many clients a snapshot is of."""
    if run.site is not None:
        return len(run.clients)
    with snapshot(run.path, round) as arrays:
        return max(arrays.shape("trusted"))


def pairs(run: Run, round: int) -> Pairs:
    """Who trusted whom in a round, among at most WHOLE clients."""
    if run.site is not None:
        return _of_peer(run, round)
    path = place(run.path, round)
    try:
        stat = path.stat()
    except OSError:
        raise RecordError(f"there is no snapshot of round {round}") from None
    return CACHE.get((path, stat.st_ino, stat.st_mtime_ns), lambda: _read(run.path, round))


def _read(folder: Path, round: int) -> Pairs:
    with snapshot(folder, round) as arrays:
        shape = arrays.shape("trusted")
        if len(shape) != 2 or max(shape) > WHOLE:
            raise RecordError(f"the snapshot of round {round} is of {shape} clients, too many to show each pair")
        trusted = arrays.whole("trusted").astype(bool)
        edges = arrays.whole("edges").astype(bool) if "edges" in arrays.names else np.ones_like(trusted)
        if edges.shape != shape:
            raise RecordError(f"the snapshot of round {round} is damaged: its arrays do not fit each other")
        states = np.where(edges, np.where(trusted, TRUSTED, DISTRUSTED), NONE).astype(np.uint8)
        merit = "accuracy" if "accuracy" in arrays.names else "r2"
        return Pairs(
            states,
            outside=_optional(arrays, "outside", np.float32, shape),
            worst=_optional(arrays, "worst", np.int32, shape),
            sigmas=_optional(arrays, "sigmas", np.float32, shape),
            heading=_optional(arrays, "heading", np.float32, shape),
            fault=_optional(arrays, "fault", np.uint8, shape),
            merit=_optional(arrays, merit, np.float32, shape[1:]),
            malicious=_optional(arrays, "malicious", np.bool_, shape[1:]),
            overwritten=_optional(arrays, "overwritten", np.float32, shape[:1]),
        )


def _optional(arrays: Snapshot, name: str, kind: Any, shape: tuple[int, ...]) -> Array | None:
    """An array if it is there and has the shape that it should have."""
    if name not in arrays.names or arrays.shape(name) != shape:
        return None
    return arrays.whole(name).astype(kind)


def _of_peer(run: Run, round: int) -> Pairs:
    """A peer's round: it knows only its own row."""
    table, sites = run.table(), run.clients
    if run.site not in sites or round not in table.rounds:
        raise RecordError(f"there is no account of round {round}")
    if len(sites) > WHOLE:
        raise RecordError(f"{len(sites)} sites are too many to show each pair")
    own, size = sites.index(run.site), (len(sites), len(sites))
    states = np.zeros(size, np.uint8)
    outside, sigmas, heading = (np.full(size, np.nan, np.float32) for _ in range(3))
    worst, fault = np.zeros(size, np.int32), np.zeros(size, np.uint8)
    states[own, own] = TRUSTED
    for site, told in table.verdicts[table.rounds.index(round)].items():
        if site not in sites or not isinstance(told, dict):
            continue
        at = own, sites.index(site)
        states[at] = {"trusted": TRUSTED, "distrusted": DISTRUSTED}.get(str(told.get("verdict")), NONE)
        outside[at], sigmas[at], heading[at] = (number(told.get(name)) for name in ("outside", "sigmas", "heading"))
        fault[at] = FAULTS.index(why) if (why := told.get("fault")) in FAULTS else 0
        worst[at] = int(np.nan_to_num(number(told.get("weight"))))
    return Pairs(states, outside, worst, sigmas, heading, fault, merit=None, malicious=None, overwritten=None)


def number(value: object) -> float:
    """A number from a line, NaN if it is none."""
    return float(value) if isinstance(value, (int, float)) and abs(value) < 2**31 else np.nan
