"""Arrays that somebody has saved with numpy."""

from __future__ import annotations

from surefed.data.base import Dataset
from surefed.data.formats import read_npz
from surefed.data.formats.base import place_of


def npz(*, path: str | None = None) -> Dataset:
    """numpy.savez(path, inputs=..., labels=...), and owner, owners, test, background, mean, std if there are."""
    return read_npz(place_of(path, "the .npz file"))
