"""LEAF json: folders of files with users, num_samples and user_data (Caldas et al. 2018)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefed.core import DataError
from surefed.data.base import Dataset
from surefed.data.formats.base import (
    Array,
    compact,
    count_classes,
    decoding,
    folder_of,
    named_owners,
    stacked,
    whole_labels,
)


class _Part(NamedTuple):
    user: str
    inputs: Array  # [sample, feature]
    labels: Array  # [sample]
    test: bool


def read_leaf(folder: Path, classes: int | None = None) -> Dataset:
    """Everything in the json files of a folder, or of its folders train and test; users are the owners."""
    folder_of(folder, "LEAF's json files, or its folders train and test")
    split = [(name == "test", folder / name) for name in ("train", "test") if (folder / name).is_dir()]
    parts: list[_Part] = []
    for test, place in split or [(False, folder)]:
        files = sorted(place.glob("*.json"))
        if not files:
            raise DataError(f"there is no .json file in {place}; LEAF's preprocess.sh writes them there")
        parts += [part for file in files for part in _read_file(file, test, classes)]
    sizes = [len(part.labels) for part in parts]
    shapes = {part.inputs.shape[1:]: part.user for part in parts}
    if len(shapes) > 1:
        (one, first), (other, second) = list(shapes.items())[:2]
        raise DataError(f"{folder}: samples of user {first} have shape {one}, those of user {second} {other}")
    owner, owners = named_owners(np.repeat([part.user for part in parts], sizes))
    labels = np.concatenate([part.labels for part in parts])
    count = count_classes(labels, folder) if classes is None else classes
    held = np.repeat([part.test for part in parts], sizes)
    inputs = stacked([part.inputs for part in parts])
    return Dataset(inputs, labels, count, owner, owners, held if len(split) == 2 else None)


def _read_file(file: Path, test: bool, classes: int | None) -> list[_Part]:
    with decoding(file, "no json"):
        content = json.loads(file.read_bytes())
    try:
        users, data = list(content["users"]), dict(content.pop("user_data"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{file} is no LEAF file: it needs the keys users, num_samples and user_data") from error
    counts = content.get("num_samples") or [None] * len(users)
    if len(counts) != len(users):
        raise DataError(f"{file}: {len(users)} users, but {len(counts)} entries in num_samples; bring it again")
    parts = []
    for user, count in zip(users, counts, strict=True):
        inputs, labels = _user(f"{file}: user {user}", data.pop(user, None), count)
        parts.append(_Part(str(user), inputs, whole_labels(labels, f"{file}: user {user}", classes), test))
    return parts


def _user(who: str, given: Any, count: int | None) -> tuple[Array, Array]:
    if not isinstance(given, dict) or not given.get("x") or not given.get("y"):
        raise DataError(f"{who} has no data; take the user out of `users`, or bring the whole file")
    try:
        x, y = np.asarray(given["x"], dtype=np.float64), np.asarray(given["y"])
    except (TypeError, ValueError) as error:
        raise DataError(f"{who}: the x are not numbers of one shape ({error})") from error
    if len(x) != len(y) or (count is not None and count != len(y)):
        told = "" if count is None else f", and num_samples says {count}"
        raise DataError(f"{who} has {len(x)} x and {len(y)} y{told}; the file is damaged, bring it again")
    return compact(x if x.ndim > 1 else x[:, None], who), y
