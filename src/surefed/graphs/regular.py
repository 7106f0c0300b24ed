"""Everybody hears the same number of others."""

from __future__ import annotations

import numpy as np

from surefed.core import generator
from surefed.graphs.base import Fixed, Integers, joined


def regular(clients: int, seed: int, *, k: int = 4) -> Fixed:
    """Everybody hears exactly k others, drawn at random once.

    Everybody's k half-edges are paired at random (Bollobas 1980); pairs that join a client to itself, or two clients
    twice, exchange ends with others drawn at random. Every such graph can come out; of six clients with k = 2, two
    triangles do a third less often than a given hexagon.
    """
    if not 0 <= k < clients:
        raise ValueError(f"k, whom everybody hears, is a number from 0 to {clients - 1}, not {k}; use more clients")
    if k * clients % 2:
        raise ValueError(
            f"{clients} clients with {k} neighbours each have half an edge too many; make one of them even"
        )
    rng = generator(seed, "graph/regular")
    if k > (clients - 1) / 2:  # whom everybody does not hear is a sparser graph of the same kind
        absent = joined(clients, *_paired(clients, clients - 1 - k, rng)).dense()
        absent.fill_diagonal_(False)
        return Fixed(~absent)
    return Fixed(joined(clients, *_paired(clients, k, rng)))


def _paired(clients: int, k: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """The two ends of each edge, drawn again whenever the exchanges get stuck."""
    while True:
        ends = rng.permutation(np.repeat(np.arange(clients), k)).reshape(-1, 2)
        if _untangle(ends, clients, rng):
            return ends[:, 0], ends[:, 1]


def _untangle(ends: Integers, clients: int, rng: np.random.Generator) -> bool:
    """Exchange ends until no edge is a loop or a double; False if it takes too long. ends: int64 [edge, 2]"""
    keys = _keys(ends, clients)
    _, first, count = np.unique(keys, return_index=True, return_counts=True)
    taken: dict[int, int] = dict(zip(keys[first].tolist(), count.tolist(), strict=True))

    def bad(edge: int) -> bool:
        one, other = ends[edge]
        return bool(one == other) or taken[_key(int(one), int(other), clients)] > 1

    suspects = np.flatnonzero((ends[:, 0] == ends[:, 1]) | np.isin(keys, keys[first][count > 1])).tolist()
    for edge in suspects:
        for _ in range(1000):
            if not bad(edge):
                break
            _exchange(ends, edge, int(rng.integers(len(ends))), taken, clients)
        else:
            return False
    return True


def _exchange(ends: Integers, edge: int, other: int, taken: dict[int, int], clients: int) -> None:
    """Join the first end of each edge to the second of the other, if that makes two good edges."""
    (a, b), (c, d) = ends[edge].tolist(), ends[other].tolist()
    new = (_key(a, d, clients), _key(c, b, clients))
    if a == d or c == b or new[0] == new[1] or taken.get(new[0]) or taken.get(new[1]):
        return
    for old in (_key(a, b, clients), _key(c, d, clients)):
        taken[old] -= 1
    taken[new[0]] = taken[new[1]] = 1
    ends[edge], ends[other] = (a, d), (c, b)


def _key(one: int, other: int, clients: int) -> int:
    return min(one, other) * clients + max(one, other)


def _keys(ends: Integers, clients: int) -> Integers:
    keys: Integers = ends.min(1) * clients + ends.max(1)
    return keys
