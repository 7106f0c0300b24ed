"""One client per owner of samples, such as the writer of digits."""

from __future__ import annotations

import numpy as np

from surefed.data.partitions.base import Parts, Pool


def natural(
    pool: Pool, clients: int | None, rng: np.random.Generator, *, min_samples: int = 1, largest: bool = False
) -> Parts:
    """Everybody keeps their own samples; of those with `min_samples`, `clients` are drawn, or the largest taken.

    Without a number of clients, all of them take part. Clients bear their owners' names, in the owners' order.
    """
    if pool.owner is None:
        raise ValueError("the data does not say whose each sample is; use another partition, such as iid or dirichlet")
    sizes = np.bincount(pool.owner, minlength=len(pool.owners))
    enough = np.flatnonzero(sizes >= max(1, min_samples))
    wanted = len(enough) if clients is None else clients
    if not 1 <= wanted <= len(enough):
        raise ValueError(
            f"{len(enough)} of the {np.count_nonzero(sizes)} natural clients have at least {min_samples} training "
            f"samples, too few to choose {max(1, wanted)} from; use fewer clients or lower min_samples"
        )
    shuffled = rng.permutation(enough)
    ranked = shuffled[np.argsort(-sizes[shuffled], kind="stable")] if largest else shuffled
    by_owner = np.argsort(pool.owner, kind="stable")
    pieces = np.split(by_owner, np.cumsum(sizes)[:-1])
    return {pool.owners[at]: pieces[at] for at in np.sort(ranked[:wanted])}
