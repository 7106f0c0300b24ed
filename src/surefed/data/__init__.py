"""Datasets, and how they are cut into clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from surefed.core.registry import Factory, build, discover, find
from surefed.data.base import Dataset, Federation, federation
from surefed.data.clients import Deal, TestPart, deal, federate, own_dataset
from surefed.data.partitions import PARTITIONS

DATASETS: dict[str, Factory] = discover(__name__, __path__)

__all__ = ["DATASETS", "PARTITIONS", "Dataset", "Deal", "Federation", "cut", "deal", "federate", "federation", "load"]


def load(
    name: str,
    options: Mapping[str, Any] | None = None,
    *,
    clients: int | None = None,
    seed: int = 0,
    fields: Iterable[str] = (),
) -> Dataset:
    """The dataset of that name, or as `module:attribute` anybody's own, which is told clients and seed if it asks.

    fields: other words that a misspelt option may stand for.
    """
    found, given = find(name, DATASETS, "dataset"), options or {}
    if name in DATASETS:
        return build(found, "dataset", name, given, gives=Dataset)
    return own_dataset(found, name, given, {"clients": clients, "seed": seed}, fields)


def cut(
    dataset: Dataset,
    clients: int | None = None,
    *,
    partition: str = "auto",
    options: Mapping[str, Any] | None = None,
    test: TestPart = "auto",
    test_share: float = 0.2,
    seed: int = 0,
) -> Federation:
    """Set some samples aside for testing and deal the others out to the clients.

    partition: `auto` is `natural` for a dataset that says whose each sample is, else `iid`; options are its own.
    clients: everybody under `natural`, else 20, unless given.
    test: the published test part, or a random share `test_share`; `auto` takes the published one where there is one
        and, under `natural`, the clients have samples in it.
    """
    dealt = deal(dataset, clients, partition=partition, options=options, test=test, test_share=test_share, seed=seed)
    return federate(dataset, dealt)
