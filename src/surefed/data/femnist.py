"""FEMNIST: handwritten digits and letters by writer, and its view "digits by writer"."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from surefed.data.base import Dataset
from surefed.data.formats import read_leaf, read_packed_femnist, read_tff
from surefed.data.store import find, look

CLASSES = 62
"""0-9 digits, 10-35 A-Z, 36-61 a-z."""


def femnist(*, path: str | None = None, digits_only: bool = False) -> Dataset:
    """62 characters by writer (Caldas et al. 2018), dark on a background of 1; digits_only keeps labels below 10.

    Writers are the owners, and each has a part for testing. MNIST is light on dark: `data.invert` makes them alike.
    """
    found = find("femnist") if path is None else look("femnist", Path(path).expanduser())
    if found.layout == "packed":
        characters = read_packed_femnist(found.files[0])
    elif found.layout == "leaf":
        flat = read_leaf(found.folder, CLASSES)
        characters = replace(flat, inputs=flat.inputs.reshape(-1, 1, 28, 28))
    else:
        characters = read_tff(found.files[0], found.files[1], CLASSES)
    characters = replace(characters, background=1.0)
    return _digits(characters) if digits_only else characters


def _digits(characters: Dataset) -> Dataset:
    """Labels below 10; writers who wrote no digit are gone."""
    assert characters.owner is not None
    assert characters.test is not None
    kept = characters.labels < 10
    used, owner = np.unique(characters.owner[kept], return_inverse=True)
    return replace(
        characters,
        inputs=characters.inputs[kept],
        labels=characters.labels[kept],
        classes=10,
        owner=owner.astype(np.int64),
        owners=tuple(characters.owners[at] for at in used),
        test=characters.test[kept],
    )
