"""Who trains on which samples, and which are kept for testing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from surefed.core import DataError, generator
from surefed.core.registry import build, find
from surefed.data.base import Dataset
from surefed.data.clients.check import check
from surefed.data.partitions import PARTITIONS, Parts, Pool
from surefed.data.partitions.base import Indices

TestPart = Literal["auto", "published", "cut"]
BY_CLASS = ("dirichlet", "pathological", "shards")
"""Partitions that look at classes."""
CLIENTS = 20
"""How many clients samples are dealt out to where nobody says."""


@dataclass(frozen=True, slots=True)
class Deal:
    """Who trains on which samples of a dataset, and which are kept for testing.

    train: each client's samples. test: everybody's test samples. int64 [sample] each, indices into the dataset
    own_test: each client's own share of the test samples; None where they belong to nobody in particular.
    partition, cut: how it was done, once `auto` was decided.
    """

    partition: str
    cut: Literal["published", "cut"]
    train: Parts
    test: Indices
    own_test: Parts | None = None


def deal(
    dataset: Dataset,
    clients: int | None = None,
    *,
    partition: str = "auto",
    options: Mapping[str, Any] | None = None,
    test: TestPart = "auto",
    test_share: float = 0.2,
    seed: int = 0,
) -> Deal:
    """Deal a dataset out: to its natural clients if it has any, else evenly, unless told otherwise."""
    check(dataset)
    if partition == "auto":
        partition = "iid" if dataset.owner is None else "natural"
    if partition in BY_CLASS and not dataset.classes:
        raise DataError(
            f"the partition {partition!r} deals out classes, and these labels are numbers; use iid or by_size"
        )
    if test == "published" and dataset.test is None:
        raise DataError('the dataset was published without a test part; set data.test to "cut"')
    chosen = _natural if partition == "natural" else _dealt
    made = chosen(dataset, clients, partition, options or {}, test, test_share, seed)
    if len(made.test) == 0:
        raise DataError(f"the test set is empty: a share of {test_share} of so few samples is none; raise test_share")
    return made


def _dealt(
    dataset: Dataset,
    clients: int | None,
    partition: str,
    options: Mapping[str, Any],
    test: TestPart,
    test_share: float,
    seed: int,
) -> Deal:
    """The published test part, or a random share of all samples, is set aside; the rest is dealt out."""
    rng = generator(seed, "split")
    how: Literal["published", "cut"]
    if dataset.test is not None and test != "cut":
        how, held, train = "published", np.flatnonzero(dataset.test), np.flatnonzero(~dataset.test)
    else:
        order = rng.permutation(len(dataset.labels))
        count = round(test_share * len(order))
        how, held, train = "cut", order[:count], order[count:]
    clients = CLIENTS if clients is None else clients
    if clients > len(train):
        raise DataError(f"{len(train)} training samples cannot be dealt out to {clients} clients")
    parts = _parts(partition, options, Pool(dataset.labels[train]), clients, rng)
    return Deal(partition, how, {name: train[at] for name, at in parts.items()}, held)


def _natural(
    dataset: Dataset,
    clients: int | None,
    partition: str,
    options: Mapping[str, Any],
    test: TestPart,
    test_share: float,
    seed: int,
) -> Deal:
    """Everybody keeps a part of their own samples for testing: the published one, or a share drawn by lot.

    Whoever was published with test samples only takes no part: nobody may train on those.
    """
    if dataset.owner is None:
        raise DataError("the dataset does not say whose each sample is; use another partition, such as iid")
    people = len(dataset.owners)
    tested = np.zeros(len(dataset.labels), dtype=bool) if dataset.test is None else dataset.test
    trains = np.bincount(dataset.owner[~tested], minlength=people) > 0
    both = trains & (np.bincount(dataset.owner[tested], minlength=people) > 0)
    wanted = int(trains.sum()) if clients is None else clients
    published = test == "published" or (test == "auto" and dataset.test is not None and both.sum() >= wanted)
    if published and not both.any():
        raise DataError('nobody has samples in both parts of the published cut; set data.test to "cut"')
    if not published:
        tested = _own_cut(dataset, trains, test_share, seed)
    train = np.flatnonzero(~tested & (both if published else trains)[dataset.owner])
    pool = Pool(dataset.labels[train], dataset.owner[train], dataset.owners)
    parts = _parts(partition, options, pool, clients, generator(seed, "split"))
    held = np.flatnonzero(tested)
    tests = {name: held[dataset.owner[held] == dataset.owners.index(name)] for name in parts}
    dealt = {name: train[at] for name, at in parts.items()}
    return Deal(partition, "published" if published else "cut", dealt, np.concatenate(list(tests.values())), tests)


def _own_cut(dataset: Dataset, people: np.ndarray[Any, Any], share: float, seed: int) -> np.ndarray[Any, Any]:
    """A share of everybody's samples, drawn under their own name: the same whoever else takes part. bool [sample]"""
    assert dataset.owner is not None
    sizes = np.bincount(dataset.owner, minlength=len(dataset.owners))
    pieces = np.split(np.argsort(dataset.owner, kind="stable"), np.cumsum(sizes)[:-1])
    tested = np.zeros(len(dataset.labels), dtype=bool)
    for at in np.flatnonzero(people):
        count = min(max(1, round(share * sizes[at])), sizes[at] - 1)
        tested[generator(seed, "test", dataset.owners[at]).permutation(pieces[at])[:count]] = True
    return tested


def _parts(name: str, options: Mapping[str, Any], pool: Pool, clients: int | None, rng: np.random.Generator) -> Parts:
    parts: Parts = build(
        find(name, PARTITIONS, "partition"), "partition", name, options, pool, clients, rng, gives=dict
    )
    return parts
