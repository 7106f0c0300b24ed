"""Arrays that somebody has saved with numpy."""

from __future__ import annotations

from surefed.data.base import Dataset
from surefed.data.formats import read_npz
from surefed.data.formats.base import place_of


def npz(*, path: str | None = None, numbers: bool = False) -> Dataset:
    """numpy.savez(path, inputs=..., labels=...), and owner, owners, test, background, mean, std if there are.

    numbers: labels are not classes but numbers to be predicted, one or several a sample.
    """
    return read_npz(place_of(path, "the .npz file"), numbers)
