"""CIFAR-10: 50 000 + 10 000 colour pictures of 32 x 32 pixels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from surefed.data.base import Dataset
from surefed.data.formats import read_cifar, read_packed_cifar
from surefed.data.store import find, look


def cifar10(*, path: str | None = None) -> Dataset:
    """Ten kinds of things and animals (Krizhevsky 2009); nobody owns them.

    Normalised as in Karimireddy, He and Jaggi (2021), whose stds (0.20) are those within a picture; over all pictures
    they are 0.25.
    """
    found = find("cifar10") if path is None else look("cifar10", Path(path).expanduser())
    if found.layout == "packed":
        pictures = read_packed_cifar(found.files[:-1], found.files[-1])
    else:
        pictures = read_cifar(found.folder if found.layout == "binary" else found.files[0])
    return replace(pictures, mean=(0.4914, 0.4822, 0.4465), std=(0.2023, 0.1994, 0.2010))
