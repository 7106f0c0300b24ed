"""Another graph with some of its edges missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefed.core import generator
from surefed.graphs.base import Derived, Flags, Integers, Neighbours, named
from surefed.graphs.connectivity import components

_TRIES = 50


def drop_edges(
    clients: int,
    seed: int,
    ids: Sequence[str],
    *,
    share: float = 0.2,
    of: str = "complete",
    of_options: Mapping[str, Any] | None = None,
) -> Derived:
    """Another graph with a share of its edges missing: 20 % in the paper's incomplete graph.

    Both directions of an edge go together, own edges stay. Drawn again until whoever was joined still is, where
    enough edges are left for that.
    """
    return dropping(clients, seed, ids, share=share, of=of, of_options=of_options, every=None)


def dropping(
    clients: int,
    seed: int,
    ids: Sequence[str],
    *,
    share: float,
    of: str,
    of_options: Mapping[str, Any] | None,
    every: int | None,
) -> Derived:
    """Drop a share of the edges, others every so many rounds; None: the same for ever."""
    if not 0 <= share <= 1:
        raise ValueError(f"share, how many of the edges are dropped, is a number from 0 to 1, not {share}")

    def state(round: int) -> int:
        return round // every if every is not None else 0

    def make(whole: Neighbours, draw: int) -> Neighbours:
        return drop(whole, share, generator(seed, "graph/drop_edges", (whole.digest(), draw)))

    inner = named(of, of_options, clients=clients, seed=seed, ids=ids)
    return Derived(inner, state, make, f"drop_edges {share!r} every {every} seed {seed}")


def drop(whole: Neighbours, share: float, rng: np.random.Generator) -> Neighbours:
    """The same neighbours without round(share * pairs) of the pairs that hear each other, one way or both."""
    clients, receivers, senders = whole.clients, whole.receivers.numpy(), whole.senders.numpy()
    own = receivers == senders
    keys = np.minimum(receivers, senders) * clients + np.maximum(receivers, senders)
    pairs, pair_of = np.unique(keys[~own], return_inverse=True)
    left = _left(clients, *np.divmod(pairs, clients), round(share * len(pairs)), rng)
    kept = own.copy()
    kept[~own] = left[pair_of]
    return whole.only(kept)


def _left(clients: int, one: Integers, other: Integers, lost: int, rng: np.random.Generator) -> Flags:
    """Which pairs stay. bool [pair]"""
    parts = _count(clients, one, other)
    possible = len(one) - lost >= clients - parts  # as many edges as a tree in each part
    for _ in range(_TRIES):
        order = rng.permutation(len(one))
        stay = order[lost:]
        if not possible or _count(clients, one[stay], other[stay]) == parts:
            return _marked(len(one), stay)
    first = _forest(clients, one[order], other[order])  # a draw that joins everybody is too rare: begin with a tree
    return _marked(len(one), np.concatenate([order[first], order[~first]])[: len(one) - lost])


def _count(clients: int, one: Integers, other: Integers) -> int:
    return len(np.unique(components(clients, one, other)))


def _marked(count: int, chosen: Integers) -> Flags:
    flags = np.zeros(count, dtype=bool)
    flags[chosen] = True
    return flags


def _forest(clients: int, one: Integers, other: Integers) -> Flags:
    """The edges that join two parts when edges are laid down in turn (Kruskal 1956). bool [edge]"""
    root = list(range(clients))

    def find(client: int) -> int:
        while root[client] != client:
            root[client] = root[root[client]]
            client = root[client]
        return client

    joins = np.zeros(len(one), dtype=bool)
    for at, (a, b) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        first, second = find(a), find(b)
        root[first] = second
        joins[at] = first != second
    return joins
