""".npz: numpy's own archive of arrays, by the names of `Dataset`'s fields."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from surefed.core import DataError
from surefed.core.registry import nearest
from surefed.data.base import Dataset, check_numbers
from surefed.data.formats.base import Array, count_classes, decoding, float32, named_owners, whole_labels

FIELDS = ("inputs", "labels", "classes", "owner", "owners", "test", "background", "mean", "std")
PLAIN = "bring it again, or write plain arrays, not objects, with numpy.savez"


def read_npz(path: Path, numbers: bool = False) -> Dataset:
    """`numpy.savez(path, inputs=..., labels=...)` and, if there are, owner, owners, test, background, mean, std.

    inputs: uint8, or numbers [sample, ...]; labels: whole numbers [sample]; owner: numbers or names [sample].
    numbers: labels are numbers to be predicted, [sample] or [sample, target].
    """
    arrays = arrays_of(path, ("inputs", "labels"))
    for name in arrays:
        if name not in FIELDS:
            raise DataError(f"{path} holds an array {name!r}; {nearest(name, FIELDS)}")
    inputs = arrays["inputs"]
    if inputs.ndim < 2 or inputs.dtype.kind not in "iufb":
        raise DataError(f"{path}: inputs must be numbers of shape [sample, ...], not {inputs.dtype} {inputs.shape}")
    for name in ("labels", "owner", "test"):
        shape = arrays[name].shape if name in arrays else (len(inputs),)
        if (shape[:1] if numbers and name == "labels" else shape) != (len(inputs),):
            raise DataError(f"{path}: {len(inputs)} inputs need as many {name}, not shape {shape}")
    labels, classes = check_numbers(arrays["labels"], str(path)) if numbers else None, 0
    if labels is None:
        known = int(arrays["classes"]) if "classes" in arrays else None
        labels = whole_labels(arrays["labels"], path, known)
        classes = count_classes(labels, path) if known is None else known
    owner, owners = _owners(path, arrays)
    return Dataset(
        inputs=inputs if inputs.dtype == np.uint8 else float32(inputs, path),
        labels=labels,
        classes=classes,
        owner=owner,
        owners=owners,
        test=arrays["test"].astype(bool) if "test" in arrays else None,
        background=float(arrays.get("background", 0.0)),
        mean=_channels(arrays.get("mean")),
        std=_channels(arrays.get("std")),
    )


def arrays_of(path: Path, needed: Sequence[str]) -> dict[str, Array]:
    """Every array of an .npz file, if those needed are among them; nothing in it is unpickled."""
    with decoding(path, "no .npz file of plain arrays", PLAIN), path.open("rb") as raw:
        file = np.load(raw, allow_pickle=False)
        arrays = {name: file[name] for name in file.files}
    for name in needed:
        if name not in arrays:
            raise DataError(f"{path} holds no array {name!r}; {nearest(name, arrays)}")
    return arrays


def _owners(path: Path, arrays: dict[str, Array]) -> tuple[Array | None, tuple[str, ...]]:
    if "owner" not in arrays:
        return None, ()
    if "owners" not in arrays:
        return named_owners(arrays["owner"])
    names = tuple(str(name) for name in arrays["owners"])
    return whole_labels(arrays["owner"], f"{path}, owner", len(names)), names


def _channels(values: Array | None) -> tuple[float, ...] | None:
    return None if values is None else tuple(float(value) for value in np.atleast_1d(values))
