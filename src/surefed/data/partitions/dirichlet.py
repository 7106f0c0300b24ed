"""Clients with skewed labels."""

from __future__ import annotations

import numpy as np

from surefed.data.partitions.base import Indices, Parts, Pool, numbered


def dirichlet(
    pool: Pool,
    clients: int,
    rng: np.random.Generator,
    *,
    alpha: float = 0.5,
    min_samples: int = 10,
    tries: int = 1000,
) -> Parts:
    """Share out each class by its own Dirichlet(alpha) draw over the clients (Hsu, Qi and Brown 2019).

    Small alpha: each client holds few classes. Drawn again until every client has `min_samples`.
    """
    if alpha <= 0:
        raise ValueError(f"alpha must be positive, not {alpha}")
    for _ in range(tries):
        parts: list[list[Indices]] = [[] for _ in range(clients)]
        for label in np.unique(pool.labels):
            members = rng.permutation(np.flatnonzero(pool.labels == label))
            cuts = (np.cumsum(rng.dirichlet(np.full(clients, alpha)))[:-1] * len(members)).astype(int)
            for part, piece in zip(parts, np.split(members, cuts), strict=True):
                part.append(piece)
        owned = [rng.permutation(np.concatenate(part)) for part in parts]
        if min(len(part) for part in owned) >= min_samples:
            return numbered(owned, min_samples)
    raise ValueError(
        f"{tries} draws left some client with fewer than {min_samples} samples; raise alpha (now {alpha}), lower "
        "min_samples or use fewer clients"
    )
