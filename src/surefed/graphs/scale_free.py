"""A few hubs, many leaves."""

from __future__ import annotations

import numpy as np

from surefed.core import generator
from surefed.graphs.base import Fixed, joined


def scale_free(clients: int, seed: int, *, m: int = 2) -> Fixed:
    """Clients arrive one by one and join m others, the more likely the better joined these are already.

    Barabasi and Albert 1999. Client m comes first and joins the m before it; there are m * (clients - m) edges.
    """
    if not 1 <= m < clients:
        raise ValueError(f"m, whom a newcomer joins, is a number from 1 to {clients - 1}, not {m}")
    rng = generator(seed, "graph/scale_free")
    newcomers, chosen = [m] * m, list(range(m))
    ends = [*newcomers, *chosen]  # everybody as often as it has edges
    for newcomer in range(m + 1, clients):
        hosts: dict[int, None] = {}
        while len(hosts) < m:
            hosts[ends[int(rng.integers(len(ends)))]] = None
        newcomers += [newcomer] * m
        chosen += hosts
        ends += [newcomer] * m
        ends += hosts
    return Fixed(joined(clients, np.array(newcomers), np.array(chosen)))
