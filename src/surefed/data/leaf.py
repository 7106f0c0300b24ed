"""Any dataset of numbers that LEAF's scripts have written as json."""

from __future__ import annotations

from dataclasses import replace

from surefed.core import DataError
from surefed.data.base import Dataset
from surefed.data.formats import read_leaf
from surefed.data.formats.base import place_of


def leaf(*, path: str | None = None, shape: tuple[int, ...] | None = None) -> Dataset:
    """LEAF's json files in a folder, or in its folders train and test; users are the owners.

    shape: of one sample, such as [1, 28, 28], where the files hold flat lists.
    """
    read = read_leaf(place_of(path, "the folder with LEAF's json files"))
    if shape is None:
        return read
    try:
        return replace(read, inputs=read.inputs.reshape(len(read.labels), *shape))
    except ValueError:
        raise DataError(f"{path}: samples of {read.inputs[0].size} numbers do not have the shape {shape}") from None
