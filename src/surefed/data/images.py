"""Pictures in folders."""

from __future__ import annotations

from surefed.data.base import Dataset
from surefed.data.formats import read_images
from surefed.data.formats.base import place_of


def images(*, path: str | None = None) -> Dataset:
    """A folder per class, or a folder per client (the owners) with folders per class; all pictures of one size."""
    return read_images(place_of(path, "the folder with the pictures"))
