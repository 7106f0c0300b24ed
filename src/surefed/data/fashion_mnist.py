"""Fashion-MNIST: 60 000 + 10 000 articles of clothing, in the shape of MNIST."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from surefed.data.base import Dataset
from surefed.data.formats import read_idx_pairs
from surefed.data.store import find, look


def fashion_mnist(*, path: str | None = None) -> Dataset:
    """Ten kinds of clothing (Xiao, Rasul and Vollgraf 2017), light on a background of 0; nobody owns them."""
    found = find("fashion_mnist") if path is None else look("fashion_mnist", Path(path).expanduser())
    return replace(read_idx_pairs(found.files[:2], found.files[2:], 10), mean=(0.2860,), std=(0.3530,))
