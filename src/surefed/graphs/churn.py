"""Clients that leave and return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefed.core import Stream
from surefed.core.registry import nearest
from surefed.graphs.base import Derived, Flags, Neighbours, digest, named

_BLOCK = 256


def churn(
    clients: int,
    seed: int,
    ids: Sequence[str],
    *,
    leave: float = 0.02,
    come_back: float = 0.2,
    away: Mapping[str, Sequence[tuple[int, int]]] | None = None,
    of: str = "complete",
    of_options: Mapping[str, Any] | None = None,
) -> Derived:
    """Clients leave with probability `leave` a round and return with `come_back`; the absent neither send nor hear.

    Everybody is there in round 0. `away` is a schedule instead of chance: { "3" = [[10, 20], [50, 60]] } keeps
    client 3 away from round 10 to 19 and from 50 to 59. The absent hear themselves and go on learning alone.
    """
    for option, value in (("leave", leave), ("come_back", come_back)):
        if not 0 <= value <= 1:
            raise ValueError(f"{option} is a probability from 0 to 1, not {value}")
    present = Chance(seed, ids, leave, come_back) if away is None else Schedule(ids, away)

    def state(round: int) -> bytes:
        return present.at(round).tobytes()

    def make(whole: Neighbours, mask: bytes) -> Neighbours:
        there = np.frombuffer(mask, dtype=bool)
        return whole.only(there[whole.receivers.numpy()] & there[whole.senders.numpy()])

    inner = named(of, of_options, clients=clients, seed=seed, ids=ids)
    return Derived(inner, state, make, digest("churn", present.about))


class Chance:
    """Who is there when each client leaves and returns by chance, one draw a round and client.

    What happens in a round depends on the round before; rounds already played are kept, 1 byte a client and round.
    """

    def __init__(self, seed: int, ids: Sequence[str], leave: float, come_back: float) -> None:
        self.about = repr((seed, tuple(ids), leave, come_back))
        self._stream = Stream(seed, "graph/churn", ids)
        self._leave, self._come_back = leave, come_back
        self._played = [np.ones(len(ids), dtype=bool)]

    def at(self, round: int) -> Flags:
        """bool [client]"""
        while len(self._played) <= round:
            tickets = self._stream.uniform(_BLOCK, round=len(self._played) // _BLOCK).numpy()  # [client, round]
            for ticket in tickets.T:
                there = self._played[-1]
                self._played.append(np.where(there, ticket >= self._leave, ticket < self._come_back))
        return self._played[round]


class Schedule:
    """Who is there when absences are written down."""

    def __init__(self, ids: Sequence[str], away: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        self.about = repr((tuple(ids), sorted((name, [tuple(span) for span in spans]) for name, spans in away.items())))
        place = {name: at for at, name in enumerate(ids)}
        self._clients, spans = len(ids), []
        for name, absences in away.items():
            if name not in place:
                raise ValueError(f"away names {name!r}, which is no client; {nearest(name, ids)}")
            for begin, end in absences:
                if not 0 <= begin < end:
                    raise ValueError(f"client {name} is away from a round to a later one, not from {begin} to {end}")
                spans.append((place[name], begin, end))
        self._spans = np.array(spans, dtype=np.int64).reshape(-1, 3)  # client, first round, first round back

    def at(self, round: int) -> Flags:
        """bool [client]"""
        who, begin, end = self._spans.T
        there = np.ones(self._clients, dtype=bool)
        there[who[(begin <= round) & (round < end)]] = False
        return there
