"""A site's own samples: whatever it names is read here, checked against the charter, and never leaves."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch

from surefed.core import DataError, generator
from surefed.core.registry import attribute, options
from surefed.data import DATASETS, Dataset, Federation, load
from surefed.data.base import check_labels, check_numbers, check_values
from surefed.data.clients import own_dataset
from surefed.peer.charter import Charter
from surefed.peer.settings import Data

Array = np.ndarray[Any, Any]


def own_data(section: Data, charter: Charter, site: str) -> Federation:
    """The samples that a site named, as a federation of one: those it trains on, and those it holds out.

    Where the data says whose each sample is and the site is among them, the others' are left out.
    """
    return alone(_read(section, charter, site), charter, site, section.held_out)


def alone(dataset: Dataset, charter: Charter, site: str, held_out: float) -> Federation:
    """A federation of one site. What it holds out is the dataset's own test part, or else a share drawn by lot.

    The lot is the simulator's for the same seed and name.
    """
    whole = f"the data of {site}"
    mine = np.arange(len(dataset.labels))
    if dataset.owner is not None and site in dataset.owners:
        mine = np.flatnonzero(dataset.owner == dataset.owners.index(site))
    inputs, labels = _checked(dataset.inputs[mine], dataset.labels[mine], charter, whole)
    tested = np.zeros(len(mine), dtype=bool) if dataset.test is None else dataset.test[mine]
    if not tested.any():
        count = min(max(1, round(held_out * len(mine))), len(mine) - 1)
        tested[generator(charter.seed, "test", site).permutation(len(mine))[:count]] = True
    if tested.all():
        raise DataError(f"{whole}: there is nothing to train on, only samples held out")
    return Federation(
        inputs=torch.from_numpy(np.ascontiguousarray(inputs[~tested])),
        labels=torch.from_numpy(np.ascontiguousarray(labels[~tested])),
        sizes=torch.tensor([int((~tested).sum())]),
        ids=(site,),
        test_inputs=torch.from_numpy(np.ascontiguousarray(inputs[tested])),
        test_labels=torch.from_numpy(np.ascontiguousarray(labels[tested])),
        classes=charter.classes,
        background=dataset.background,
    )


def _read(section: Data, charter: Charter, site: str) -> Dataset:
    """The dataset of that name, or what somebody's own loader gives: arrays, or all that the simulator accepts.

    Files are read with their labels as numbers, which they must be at every site: words would be numbered by each site
    for itself, and a site may lack a class.
    """
    if section.name in DATASETS:
        asks = "numbers" in options(DATASETS[section.name])
        return load(section.name, section.options | ({"numbers": True} if asks else {}))
    loader = attribute(section.name, "dataset")

    @functools.wraps(loader)
    def mine(**given: Any) -> Any:
        made = loader(**given)
        plain = isinstance(made, (tuple, list)) and len(made) in (2, 4) and all(np.ndim(part) > 0 for part in made)
        return {site: made} if plain else made

    found: Any = mine if callable(loader) else loader
    return own_dataset(found, section.name, section.options, {"site": site, "seed": charter.seed})


def _checked(inputs: Array, labels: Array, charter: Charter, whose: str) -> tuple[Array, Array]:
    """Inputs as float32 and labels as the charter has them, or an error that says what does not fit."""
    if len(labels) < 2:
        raise DataError(f"{whose}: there are {len(labels)} samples; one to train on and one to hold out are the least")
    if inputs.shape[1:] != charter.shape:
        raise DataError(f"{whose}: inputs have shape {inputs.shape[1:]}, and the charter says {charter.shape}")
    scaled = inputs.astype(np.float32) / 255 if inputs.dtype == np.uint8 else inputs.astype(np.float32)
    check_values(scaled, whose)
    if charter.classes:
        whole = check_labels(labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels, whose)
        if whole.min() < 0 or whole.max() >= charter.classes:
            raise DataError(f"{whose}: labels must lie in 0 .. {charter.classes - 1}, and {whole.max()} is there")
        return scaled, whole
    numbers = check_numbers(labels, whose).reshape(len(labels), -1)
    if numbers.shape[1] != charter.targets:
        raise DataError(f"{whose}: labels have {numbers.shape[1]} numbers each, and the charter says {charter.targets}")
    return scaled, numbers
