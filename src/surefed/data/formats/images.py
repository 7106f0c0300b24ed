"""Image folders: a folder per class, or a folder per client that holds a folder per class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from surefed.core import DataError
from surefed.data.base import Dataset
from surefed.data.formats.base import Array, decoding, folder_of, named_owners

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".pgm", ".ppm")


class _Picture(NamedTuple):
    file: Path
    label: str
    client: str | None


def read_images(folder: Path) -> Dataset:
    """CLASS/picture.png, or CLIENT/CLASS/picture.png; classes are numbered in alphabetical order.

    inputs: uint8 [sample, 1, row, column] if all are grey, [sample, 3, row, column] if one has colour.
    """
    folders = _folders(folder_of(folder, "a folder per class, or a folder per client"))
    if not folders:
        raise DataError(f"{folder} holds no folders; put the pictures of each class into a folder of its own")
    nested = [place for place in folders if _folders(place)]
    if nested and len(nested) < len(folders):
        flat = next(place for place in folders if place not in nested)
        raise DataError(
            f"{folder}: {nested[0].name} holds folders, {flat.name} does not; all must be classes, or all clients"
        )
    if nested:
        found = [picture for client in folders for name in _folders(client) for picture in _pictures(name, client.name)]
    else:
        found = [picture for name in folders for picture in _pictures(name, None)]
    labels, classes = named_owners([picture.label for picture in found])
    owner, owners = named_owners([picture.client or "" for picture in found])
    inputs = _pixels([picture.file for picture in found])
    return Dataset(inputs, labels, len(classes), owner if nested else None, owners if nested else ())


def _folders(folder: Path) -> list[Path]:
    return sorted(place for place in folder.iterdir() if place.is_dir() and not place.name.startswith("."))


def _pictures(folder: Path, client: str | None) -> list[_Picture]:
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES)
    if not files:
        raise DataError(f"{folder} holds no pictures ({', '.join(SUFFIXES)}); fill the class or remove its folder")
    return [_Picture(file, folder.name, client) for file in files]


def _pixels(files: list[Path]) -> Array:
    """All pictures in one array, of one size and the right way up. uint8 [picture, channel, row, column]"""
    read = [_open(file) for file in files]
    colour = any(picture.mode == "RGB" for picture in read)
    for file, picture in zip(files, read, strict=True):
        if picture.size != read[0].size:
            one, other = ("{} x {}".format(*size) for size in (read[0].size, picture.size))
            raise DataError(f"{files[0]} is {one} pixels, {file} {other}; scale all pictures to one size first")
    arrays = [np.asarray(picture.convert("RGB") if colour else picture) for picture in read]
    stacked = np.stack(arrays)
    return np.ascontiguousarray(stacked.transpose(0, 3, 1, 2)) if colour else stacked[:, None]


def _open(file: Path) -> Image:
    from PIL import Image, ImageOps  # here, because only pictures need it

    with decoding(file, "no picture", "bring it again or remove it"), Image.open(file) as opened:
        if opened.mode.startswith(("I", "F")):
            raise DataError(f"{file} has more than 8 bits a pixel; convert it to 8 bits first")
        upright = ImageOps.exif_transpose(opened)
        return upright.convert("L" if opened.mode in ("1", "L", "LA") else "RGB")
