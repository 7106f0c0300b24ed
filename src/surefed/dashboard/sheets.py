"""Tables as CSV, whole: nothing in them is downsampled."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from surefed.core import FAULTS
from surefed.dashboard import trust
from surefed.dashboard.crowd import crowd
from surefed.dashboard.pairs import NONE, TRUSTED, WHOLE, clients_in, pairs
from surefed.dashboard.run import Run
from surefed.dashboard.tail import known

Row = Sequence[Any]


def text(rows: Iterable[Row]) -> str:
    """Rows as CSV."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([safe(value) for value in row] for row in rows)
    return file.getvalue()


def safe(value: Any) -> Any:
    """A value as a spreadsheet may see it: a name that it would take for a formula gets an apostrophe before it."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return "" if value is None else value


def curves(runs: Iterable[Run]) -> Iterator[Row]:
    """Every evaluated round of some runs, every figure."""
    tables = [(run.id, run.table()) for run in runs]
    names = list(dict.fromkeys(name for _, table in tables for name in table.columns if name != "round"))
    yield ("run", "round", *names)
    for id, table in tables:
        for at, round in enumerate(table.rounds):
            yield (id, round, *(known(table.columns[name][at]) if name in table.columns else None for name in names))


def at_round(run: Run, round: int) -> Iterator[Row]:
    """Every pair of a round's snapshot that heard each other; of very many clients, every pair of groups."""
    if clients_in(run, round) > WHOLE:
        yield from _groups(run, round)
        return
    seen, clients, layer = pairs(run, round), run.clients, Layers(run)
    yield ("round", "receiver", "sender", "sender_malicious", "trusted", "outside", "worst", "layer", "sigmas",
           "heading", "fault")  # fmt: skip
    for receiver, sender in np.argwhere(seen.states != NONE):
        bad = "" if seen.malicious is None else int(seen.malicious[sender])
        values = [None if (at := getattr(seen, name)) is None else at[receiver, sender] for name in trust.FIELDS[1:]]
        outside, worst, sigmas, heading, fault = (None if value is None else known(float(value)) for value in values)
        yield (
            round, _name(clients, receiver), _name(clients, sender), bad,
            int(seen.states[receiver, sender] == TRUSTED), outside, worst, layer.of(worst), sigmas,
            heading, _fault(fault),
        )  # fmt: skip


def _groups(run: Run, round: int) -> Iterator[Row]:
    told = crowd(run.path, round)
    kinds = ["malicious" if role else "honest" for role in told["roles"]]
    yield ("round", "receivers", "receiver_kind", "receiver_count", "senders", "sender_kind", "sender_count", "edges",
           "trusted")  # fmt: skip
    for at, (edges, trusted) in enumerate(zip(told["edges"], told["trusted"], strict=True)):
        for other, (heard, kept) in enumerate(zip(edges, trusted, strict=True)):
            who, whom = (at, kinds[at], told["sizes"][at]), (other, kinds[other], told["sizes"][other])
            yield (round, *who, *whom, heard, kept)


def edge(run: Run, receiver: int, sender: int) -> Iterator[Row]:
    """One pair in every snapshot."""
    told, layer = trust.edge(run, receiver, sender, most=1 << 30), Layers(run)
    yield ("round", "trusted", "outside", "worst", "layer", "sigmas", "heading", "fault")
    lines = zip(*(told[name] for name in ("round", *trust.FIELDS)), strict=True)
    for round, state, outside, worst, sigmas, heading, fault in lines:
        trusted = None if state == NONE else int(state == TRUSTED)
        yield (round, trusted, outside, worst, layer.of(worst), sigmas, heading, _fault(fault))


class Layers:
    """Which layer a weight is in."""

    def __init__(self, run: Run) -> None:
        self._names = [name for name, _ in run.layers]
        self._ends = list(accumulate(size for _, size in run.layers))

    def of(self, weight: float | None) -> str | None:
        """Its name."""
        if weight is None:
            return None
        at = int(np.searchsorted(self._ends, weight, side="right"))
        return self._names[at] if at < len(self._names) else None


def _fault(number: float | None) -> str | None:
    """Why somebody was left out, in a word."""
    return None if number is None or number >= len(FAULTS) else FAULTS[int(number)]


def _name(clients: list[str], at: int) -> str:
    return clients[at] if at < len(clients) else str(at)
