"""A dataset is checked once, before anybody gets a sample of it."""

from __future__ import annotations

import numpy as np

from surefed.core import DataError
from surefed.data.base import Dataset, check_labels, check_numbers, check_values


def check(dataset: Dataset) -> None:
    """Refuse a dataset whose parts do not fit together; the message says which and what would be right."""
    inputs, count = dataset.inputs, len(dataset.labels)
    if inputs.ndim < 2 or len(inputs) != count:
        raise DataError(f"the dataset's inputs need shape [sample, ...] with {count} samples, not {inputs.shape}")
    if inputs.dtype.kind not in "iufb":
        raise DataError(f"the dataset's inputs must be numbers, not {inputs.dtype}")
    if inputs.dtype != np.uint8:
        check_values(inputs, "the dataset")
    if dataset.classes:
        _check_classes(dataset)
    else:
        check_numbers(dataset.labels, "the dataset")
    _check_people(dataset)
    _check_channels(dataset)


def _check_classes(dataset: Dataset) -> None:
    """Labels are whole numbers, and every class has a sample."""
    count = len(dataset.labels)
    check_labels(dataset.labels, "the dataset")
    held = np.bincount(dataset.labels, minlength=dataset.classes) if count and dataset.labels.min() >= 0 else None
    if held is None or len(held) > dataset.classes:
        raise DataError(
            f"the dataset's labels must lie in 0 .. {dataset.classes - 1} for {dataset.classes} classes, and there "
            "must be some"
        )
    missing = np.flatnonzero(held == 0)
    if len(missing):
        raise DataError(
            f"the dataset has no sample of class {', '.join(map(str, missing[:8]))}; nobody could learn it. Number the "
            "classes without gaps"
        )


def _check_people(dataset: Dataset) -> None:
    """Owners and the published cut fit the samples."""
    count, owner, test = len(dataset.labels), dataset.owner, dataset.test
    if owner is not None:
        if owner.shape != (count,) or owner.min() < 0 or owner.max() >= len(dataset.owners):
            raise DataError(f"owner must give one of the {len(dataset.owners)} owners for each of {count} samples")
        if len(set(dataset.owners)) != len(dataset.owners):
            twice = next(name for name in dataset.owners if dataset.owners.count(name) > 1)
            raise DataError(f"two owners are called {twice!r}; names must differ")
    if test is not None and (test.shape != (count,) or test.dtype != np.bool_):
        raise DataError(f"test must say True or False for each of {count} samples, not {test.dtype} {test.shape}")


def _check_channels(dataset: Dataset) -> None:
    """Mean and std, where there are any, are one number each or one per channel."""
    channels = dataset.inputs.shape[1]
    for name, values in (("mean", dataset.mean), ("std", dataset.std)):
        if values is not None and len(values) not in (1, channels):
            raise DataError(f"{name} needs one number, or one for each of {channels} channels, not {len(values)}")
    if (dataset.mean is None) != (dataset.std is None) or (dataset.std is not None and min(dataset.std) <= 0):
        raise DataError("mean and std come together, and every std is positive")
