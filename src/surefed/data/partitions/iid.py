"""Everybody draws from the same hat."""

from __future__ import annotations

import numpy as np

from surefed.data.partitions.base import Parts, Pool, numbered


def iid(pool: Pool, clients: int, rng: np.random.Generator, *, min_samples: int = 1) -> Parts:
    """Shuffle all samples and deal them out evenly."""
    return numbered(np.array_split(rng.permutation(len(pool.labels)), clients), min_samples)
