"""MNIST with writers, FEMNIST and CIFAR-10 packed small, as .npz files with keys of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from surefed.core import DataError
from surefed.data.base import Dataset
from surefed.data.formats.base import Array, named_owners, whole_labels
from surefed.data.formats.npz import arrays_of


def read_packed_mnist(path: Path) -> Dataset:
    """{train,test}_{images,labels,writer}: the 70 000 digits in their order, each with its writer."""
    parts = ("train", "test")
    packed = arrays_of(path, [f"{part}_{what}" for part in parts for what in ("images", "labels", "writer")])
    images, labels, writers = (
        np.concatenate([packed[f"{part}_{what}"] for part in parts]) for what in ("images", "labels", "writer")
    )
    _same_length(path, images=images, labels=labels, writer=writers)
    owner, owners = named_owners(writers)
    test = np.arange(len(labels)) >= len(packed["train_labels"])
    return Dataset(images[:, None], whole_labels(labels, path, 10), 10, owner, owners, test)


def read_packed_femnist(path: Path) -> Dataset:
    """images, labels, writer, writer_names and split (0 = LEAF's training part, 1 = its test part)."""
    packed = arrays_of(path, ("images", "labels", "writer", "writer_names", "split"))
    _same_length(path, **{name: packed[name] for name in ("images", "labels", "writer", "split")})
    names = tuple(str(name) for name in packed["writer_names"])
    owner = whole_labels(packed["writer"], f"{path}, writer", len(names))
    labels = whole_labels(packed["labels"], path, 62)
    return Dataset(packed["images"][:, None], labels, 62, owner, names, packed["split"] == 1)


def read_packed_cifar(train: Sequence[Path], test: Path) -> Dataset:
    """residual and labels: each pixel less its left and upper neighbours, red and blue less green, modulo 256."""
    read = []
    for path in (*train, test):
        packed = arrays_of(path, ("residual", "labels"))
        _same_length(path, **packed)
        read.append((_decoded(packed["residual"]), whole_labels(packed["labels"], path, 10)))
    labels = np.concatenate([part[1] for part in read])
    held = np.arange(len(labels)) >= len(labels) - len(read[-1][1])
    return Dataset(np.concatenate([part[0] for part in read]), labels, 10, test=held)


def _decoded(residual: Array) -> Array:
    """The pixels again. uint8 [image, 3, 32, 32]"""
    pixels = residual.cumsum(axis=2, dtype=np.uint8).cumsum(axis=3, dtype=np.uint8)
    pixels[:, 0] += pixels[:, 1]
    pixels[:, 2] += pixels[:, 1]
    return pixels


def _same_length(path: Path, **arrays: Array) -> None:
    if len({len(array) for array in arrays.values()}) > 1:
        told = ", ".join(f"{name} {len(array)}" for name, array in arrays.items())
        raise DataError(f"{path}: its arrays differ in length ({told}); it is damaged, bring it again")
