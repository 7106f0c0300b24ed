"""Datasets, and how they are cut into clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefed.core import DataError, generator
from surefed.core.registry import Factory, build, discover, find
from surefed.data.base import Dataset, Federation, federation
from surefed.data.partitions import PARTITIONS

DATASETS: dict[str, Factory] = discover(__name__, __path__)

__all__ = ["DATASETS", "PARTITIONS", "Dataset", "Federation", "cut", "federation"]


def cut(
    dataset: Dataset,
    clients: int,
    *,
    partition: str = "iid",
    options: Mapping[str, Any] | None = None,
    test_share: float = 0.2,
    seed: int = 0,
) -> Federation:
    """Set a random `test_share` of the samples aside for testing and deal the rest out to the clients."""
    rng = generator(seed, "split")
    order = rng.permutation(len(dataset.labels))
    held = round(test_share * len(order))
    test, train = order[:held], order[held:]
    if clients > len(train):
        raise DataError(f"{len(train)} training samples cannot be dealt out to {clients} clients")
    deal = find(partition, PARTITIONS, "partition")
    parts = build(deal, "partition", partition, options or {}, dataset.labels[train], clients, rng, gives=list)
    return federation(
        [(dataset.inputs[train[part]], dataset.labels[train[part]]) for part in parts],
        (dataset.inputs[test], dataset.labels[test]),
        classes=dataset.classes,
    )
