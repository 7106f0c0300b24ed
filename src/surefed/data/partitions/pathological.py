"""Clients that know exactly so many classes and no other."""

from __future__ import annotations

import numpy as np

from surefed.data.partitions.base import Indices, Parts, Pool, numbered


def pathological(
    pool: Pool, clients: int, rng: np.random.Generator, *, classes: int = 2, min_samples: int = 1
) -> Parts:
    """Give each client exactly `classes` classes, every class to as many clients (Collins et al. 2021).

    The holders of a class share its samples evenly.
    """
    known, counts = np.unique(pool.labels, return_counts=True)
    if not 1 <= classes <= len(known):
        raise ValueError(f"a client can have 1 to {len(known)} of the classes, not {classes}")
    if clients * classes < len(known):
        raise ValueError(
            f"{clients} clients with {classes} classes each leave some of the {len(known)} classes to nobody; use at "
            f"least {-(-len(known) // classes)} clients, or more classes each"
        )
    holders = _holders(clients, len(known), classes, rng)
    short = np.flatnonzero(counts < [len(held) for held in holders])
    if len(short):
        at = short[0]
        raise ValueError(
            f"{len(holders[at])} clients cannot share the {counts[at]} samples of class {known[at]}; use fewer clients"
        )
    parts: list[list[Indices]] = [[] for _ in range(clients)]
    for label, held in zip(known, holders, strict=True):
        members = rng.permutation(np.flatnonzero(pool.labels == label))
        for client, piece in zip(held, np.array_split(members, len(held)), strict=True):
            parts[client].append(piece)
    return numbered([rng.permutation(np.concatenate(part)) for part in parts], min_samples)


def _holders(clients: int, known: int, classes: int, rng: np.random.Generator) -> list[list[int]]:
    """Which clients hold each class: every client takes the classes with the fewest holders so far, ties by lot."""
    holders: list[list[int]] = [[] for _ in range(known)]
    for client in range(clients):
        lots = rng.permutation(known)
        rarest = sorted(lots.tolist(), key=lambda label: len(holders[label]))
        for label in rarest[:classes]:
            holders[label].append(client)
    return holders
