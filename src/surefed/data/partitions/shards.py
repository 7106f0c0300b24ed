"""Clients that know only a few classes."""

from __future__ import annotations

import numpy as np

from surefed.data.partitions.base import Parts, Pool, numbered


def shards(pool: Pool, clients: int, rng: np.random.Generator, *, per_client: int = 2, min_samples: int = 1) -> Parts:
    """Sort by label, cut into equal shards, deal `per_client` to each client (McMahan et al. 2017)."""
    labels = pool.labels
    if per_client < 1 or clients * per_client > len(labels):
        raise ValueError(f"{clients} clients x {per_client} shards need between 1 and {len(labels)} shards in all")
    order = rng.permutation(len(labels))
    by_label = order[np.argsort(labels[order], kind="stable")]
    pieces = np.array_split(by_label, clients * per_client)
    hands = rng.permutation(len(pieces)).reshape(clients, per_client)
    dealt = [rng.permutation(np.concatenate([pieces[piece] for piece in hand])) for hand in hands]
    return numbered(dealt, min_samples)
