"""Federated EMNIST as TensorFlow Federated publishes it: HDF5 with a group of examples per writer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from surefed.core import DataError
from surefed.data.base import Dataset
from surefed.data.formats.base import (
    Array,
    compact,
    count_classes,
    decoding,
    named_owners,
    optional,
    stacked,
    whole_labels,
)


def read_tff(train: Path, test: Path, classes: int | None = None) -> Dataset:
    """Both files, examples/WRITER/{pixels, label} in each; writers are the owners. inputs: [sample, 1, 28, 28]"""
    h5py = optional("h5py", f"reading {train.name}", "h5py")
    learned, held = (list(_writers(h5py, path, classes)) for path in (train, test))
    for path, writers in ((train, learned), (test, held)):
        if not writers:
            raise DataError(f"{path} holds no writers; bring it again")
    names, inputs, labels = zip(*learned, *held, strict=True)
    owner, owners = named_owners(np.repeat(names, [len(part) for part in labels]))
    whole = np.concatenate(labels)
    count = count_classes(whole, train) if classes is None else classes
    cut = np.arange(len(whole)) >= sum(len(part) for *_, part in learned)
    return Dataset(stacked(inputs), whole, count, owner, owners, cut)


def _writers(h5py: Any, path: Path, classes: int | None) -> Iterator[tuple[str, Array, Array]]:
    """Writer, pixels [sample, 1, row, column] and labels [sample] of one file, a writer at a time."""
    with decoding(path, "not a file of federated EMNIST"), h5py.File(path, "r") as file:
        for name, group in file["examples"].items():
            who = f"{path}: writer {name}"
            pixels, label = np.asarray(group["pixels"]), np.asarray(group["label"]).reshape(-1)
            if pixels.ndim != 3 or len(pixels) != len(label) or not len(label):
                raise DataError(
                    f"{who} has pixels of shape {pixels.shape} and {len(label)} labels; bring the file again"
                )
            yield name, compact(pixels, who)[:, None], whole_labels(label, who, classes)
