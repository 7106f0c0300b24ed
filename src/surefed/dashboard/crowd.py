"""Who trusted whom among very many clients: sums over groups, read a few rows at a time."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from surefed.core import RecordError
from surefed.dashboard.snapshots import Array, place, snapshot

BLOCKS = 48
"""Groups that the clients are put into, honest and malicious ones apart."""
BINS = 20
"""Bars of the histogram of the clients' scores."""


def crowd(folder: Path, round: int) -> dict[str, Any]:
    """A snapshot in sums: edges and trusted ones between groups of clients, and how their scores are spread.

    Groups hold clients of one kind, in the order of the record. Never more than a few rows are in memory.
    """
    try:
        stat = place(folder, round).stat()
    except OSError:
        raise RecordError(f"there is no snapshot of round {round}") from None
    return _crowd(folder, round, (stat.st_ino, stat.st_mtime_ns))


@lru_cache(maxsize=32)
def _crowd(folder: Path, round: int, stamp: tuple[int, ...]) -> dict[str, Any]:
    with snapshot(folder, round) as arrays:
        receivers, clients = arrays.shape("trusted")
        if receivers != clients or arrays.shape("edges") != (clients, clients):
            raise RecordError(f"the snapshot of round {round} is damaged: its arrays do not fit each other")
        bad = arrays.whole("malicious").astype(bool) if "malicious" in arrays.names else np.zeros(clients, dtype=bool)
        order, starts = grouping(bad)
        edges = trusted = np.zeros((len(starts), len(starts)), dtype=np.int64)
        for (first, heard), (_, trusts) in zip(arrays.rows("edges"), arrays.rows("trusted"), strict=True):
            edges = edges + _sums(heard, first, order, starts)
            trusted = trusted + _sums(trusts & heard, first, order, starts)
        name = "accuracy" if "accuracy" in arrays.names else "r2"
        merit = arrays.whole(name) if name in arrays.names else None
    sizes = np.diff([*starts, clients])
    return {
        "roles": bad[order][starts].astype(int).tolist(),
        "sizes": sizes.tolist(),
        "edges": edges.tolist(),
        "trusted": trusted.tolist(),
        "histogram": None if merit is None else {"honest": _spread(merit[~bad]), "malicious": _spread(merit[bad])},
    }


def grouping(bad: Array) -> tuple[Array, Array]:
    """An order with the honest first, and where each of at most BLOCKS + 1 groups of one kind starts in it."""
    order = np.argsort(bad, kind="stable")
    honest = int((~bad).sum())
    starts: list[int] = []
    for first, count in ((0, honest), (honest, len(bad) - honest)):
        groups = min(count, max(1, int(np.ceil(BLOCKS * count / max(1, len(bad))))))
        starts += [first + at * count // groups for at in range(groups)]
    return order, np.array(starts, dtype=np.int64)


def _sums(rows: Array, first: int, order: Array, starts: Array) -> Array:
    """Sums of some rows' cells over groups, self left out. [group, group]"""
    cells = rows.astype(bool).view(np.uint8)
    here = np.arange(len(cells))
    cells[here, first + here] = 0
    sorted_already = bool((order[:-1] < order[1:]).all())
    ordered = cells if sorted_already else np.take(cells, order, axis=1)
    largest = int(np.diff([*starts, len(order)]).max())
    room = np.uint8 if largest < 256 else np.uint32  # a byte is several times faster, where a group's sum fits
    across = np.add.reduceat(ordered, starts, axis=1, dtype=room)  # [row, group]
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    group = np.searchsorted(starts, rank[first + here], side="right") - 1
    total = np.zeros((len(starts), len(starts)), dtype=np.int64)
    np.add.at(total, group, across)
    return total


def _spread(values: Array) -> list[int]:
    return [int(count) for count in np.histogram(np.clip(values, 0, 1), bins=BINS, range=(0, 1))[0]]
