"""Graphs that take turns."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from surefed.core.registry import nearest
from surefed.core.streams import key
from surefed.graphs.base import Graph, Neighbours, digest, named, neighbours

_KEYS = ("of", "of_options", "rounds")


def periodic(
    clients: int, seed: int, ids: Sequence[str], *, graphs: Sequence[Mapping[str, Any]] | None = None
) -> Periodic:
    """Several graphs that take turns, each for so many rounds: graphs = [{ of = "ring", rounds = 9 }, { of = "star" }].

    Each may have `of_options`; without `rounds` its turn is one round. After the last one the first comes again.
    """
    if not graphs:
        raise ValueError('graphs lists what takes turns, such as [{ of = "ring", rounds = 9 }, { of = "complete" }]')
    turns = []
    for place, entry in enumerate(graphs):
        for option in entry:
            if option not in _KEYS:
                raise ValueError(f"an entry of graphs has no {option!r}; {nearest(option, _KEYS)}")
        if "of" not in entry:
            raise ValueError(f'entry {place + 1} of graphs does not say which graph; add of = "ring", say')
        rounds = entry.get("rounds", 1)
        if type(rounds) is not int or rounds < 1:
            raise ValueError(f"rounds, how long a graph's turn is, is a whole number of at least 1, not {rounds!r}")
        own_seed = key(seed, "graph/periodic", place) >> 1  # two random graphs of a kind are two draws
        made = named(entry["of"], entry.get("of_options"), clients=clients, seed=own_seed, ids=ids)
        turns.append((made, rounds))
    return Periodic(turns)


class Periodic:
    """Graphs that take turns, each for so many rounds; each is asked by the round of the run."""

    def __init__(self, turns: Sequence[tuple[Graph, int]]) -> None:
        self._graphs = [graph for graph, _ in turns]
        self._ends = list(itertools.accumulate(rounds for _, rounds in turns))

    @property
    def clients(self) -> int:
        """How many nodes there are."""
        return self._graphs[0].clients

    def _at(self, round: int) -> Graph:
        return self._graphs[bisect.bisect_right(self._ends, round % self._ends[-1])]

    def edges(self, round: int) -> Tensor:
        """bool [receiver, sender]"""
        return self._at(round).edges(round)

    def neighbours(self, round: int) -> Neighbours:
        """The same, in memory proportional to its edges."""
        return neighbours(self._at(round), round)

    def fingerprint(self) -> str:
        """A digest of who hears whom in every round."""
        return digest("periodic", repr(self._ends), *(graph.fingerprint() for graph in self._graphs))
