"""Clients that differ in how much they have, not in what."""

from __future__ import annotations

import numpy as np

from surefed.data.partitions.base import Indices, Parts, Pool, numbered


def by_size(
    pool: Pool,
    clients: int,
    rng: np.random.Generator,
    *,
    exponent: float = 1.0,
    sizes: tuple[int, ...] | None = None,
    min_samples: int = 10,
) -> Parts:
    """Shuffle all samples and deal them out by a power law, or in the given `sizes`.

    Beyond `min_samples` for everybody, client k = 0, 1, ... gets a share in proportion to (k + 1)^-exponent.
    """
    total = len(pool.labels)
    counts = _power_law(total, clients, exponent, min_samples) if sizes is None else np.asarray(sizes, dtype=np.int64)
    if len(counts) != clients:
        raise ValueError(f"{clients} clients need as many sizes, not {len(counts)}; make them equal")
    if counts.min() < 1 or counts.sum() > total:
        raise ValueError(f"sizes must be positive and sum to at most the {total} training samples")
    return numbered(np.split(rng.permutation(total), np.cumsum(counts))[:clients], min_samples)


def _power_law(total: int, clients: int, exponent: float, least: int) -> Indices:
    """Whole numbers that sum to `total`, each at least `least`, falling by a power law. int64 [client]"""
    if exponent < 0:
        raise ValueError(f"exponent must not be negative, not {exponent}; 0 gives everybody as much")
    spare = total - clients * least
    if spare < 0:
        raise ValueError(
            f"{total} training samples are fewer than min_samples = {least} for each of {clients} clients; use fewer "
            "clients or lower min_samples"
        )
    shares = np.arange(1.0, clients + 1) ** -exponent
    ends = np.rint(np.cumsum(shares) / shares.sum() * spare).astype(np.int64)
    return np.sort(np.diff(ends, prepend=0))[::-1] + least
