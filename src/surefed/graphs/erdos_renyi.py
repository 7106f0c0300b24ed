"""Every pair tosses a coin."""

from __future__ import annotations

import numpy as np

from surefed.core import generator
from surefed.graphs.base import Fixed, Integers, joined


def erdos_renyi(clients: int, seed: int, *, p: float = 0.3) -> Fixed:
    """Every two clients hear each other with probability p, drawn once (Gilbert 1959; Erdos and Renyi 1959)."""
    if not 0 <= p <= 1:
        raise ValueError(f"p is a probability from 0 to 1, not {p}")
    pairs = clients * (clients - 1) // 2
    higher, lower = unrank(_chosen(pairs, p, generator(seed, "graph/erdos_renyi")))
    return Fixed(joined(clients, higher, lower))


def _chosen(count: int, p: float, rng: np.random.Generator) -> Integers:
    """Each of 0 .. count-1 with probability p, at the cost of those chosen: by gaps (Batagelj and Brandes 2005)."""
    if p == 0 or count == 0:
        return np.empty(0, dtype=np.int64)
    found = [np.full(1, -1, dtype=np.int64)]
    while found[-1][-1] < count:
        expected = int(p * (count - found[-1][-1])) + 16
        gaps = np.minimum(rng.geometric(p, expected), count + 1)  # a tiny p gives gaps that would overflow a sum
        found.append(found[-1][-1] + np.minimum(np.cumsum(gaps), count + 1))
    all_found = np.concatenate(found)[1:]
    return all_found[all_found < count]


def unrank(index: Integers) -> tuple[Integers, Integers]:
    """The pairs (higher, lower) at these places of (1, 0), (2, 0), (2, 1), (3, 0), ..."""
    higher = ((1 + np.sqrt(1 + 8 * index.astype(np.float64))) / 2).astype(np.int64)
    higher -= higher * (higher - 1) // 2 > index  # the root may round up ...
    higher += higher * (higher + 1) // 2 <= index  # ... or down
    return higher, index - higher * (higher - 1) // 2
