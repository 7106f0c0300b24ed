"""Mostly neighbours, with a few shortcuts."""

from __future__ import annotations

import numpy as np

from surefed.core import generator
from surefed.graphs.base import Fixed, joined


def small_world(clients: int, seed: int, *, k: int = 4, p: float = 0.1) -> Fixed:
    """A ring where everybody hears the k nearest, each edge then led elsewhere with probability p.

    Watts and Strogatz 1998: one end of the edge stays, the other becomes anybody it was not joined to.
    """
    if k % 2 or not 0 <= k < clients:
        raise ValueError(f"k clients are heard, half of them on either side: an even k below {clients}, not {k}")
    if not 0 <= p <= 1:
        raise ValueError(f"p is a probability from 0 to 1, not {p}")
    rng = generator(seed, "graph/small_world")
    at = np.arange(clients)
    ends = [(int(one), int(one + step) % clients) for step in range(1, k // 2 + 1) for one in at]
    hears: list[set[int]] = [set() for _ in at]
    for one, other in ends:
        hears[one].add(other)
        hears[other].add(one)
    for moved in np.flatnonzero(rng.random(len(ends)) < p):
        one, other = ends[moved]
        if len(hears[one]) == clients - 1:
            continue
        new = one
        while new == one or new in hears[one]:
            new = int(rng.integers(clients))
        hears[one].remove(other)
        hears[other].remove(one)
        hears[one].add(new)
        hears[new].add(one)
        ends[moved] = (one, new)
    one_end, other_end = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    return Fixed(joined(clients, one_end, other_end))
