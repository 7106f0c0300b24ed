"""idx: the format of MNIST and its kin, one array a file, compressed by gzip or not."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from surefed.core import DataError
from surefed.data.base import Dataset
from surefed.data.formats.base import Array, whole_labels

KINDS = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
"""The third byte of the magic number, and the numbers it announces (LeCun, Cortes and Burges 1998)."""


def read_idx(path: Path) -> Array:
    """The array in an idx file; its header says of which shape and kind."""
    content = unzipped(path)
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in KINDS:
        raise DataError(
            f"{path} is no idx file: it begins with {content[:4].hex(' ') or 'nothing'}, not with 00 00 and a kind; "
            "bring the original, not a web page or a copy in another format"
        )
    kind, axes = np.dtype(KINDS[content[2]]), content[3]
    start = 4 + 4 * axes
    if len(content) < start:
        raise DataError(f"{path} ends within its header; it is truncated, bring it again")
    shape = struct.unpack(f">{axes}I", content[4:start])
    expected, there = math.prod(shape) * kind.itemsize, len(content) - start
    if there != expected:
        what = "truncated" if there < expected else "longer than its header says"
        raise DataError(f"{path} is {what}: {there} bytes of data, not {expected} for {shape}; bring it again")
    array = np.frombuffer(content, kind, offset=start).reshape(shape)
    return array.astype(kind.newbyteorder("="))


def read_idx_pairs(train: Sequence[Path], test: Sequence[Path], classes: int) -> Dataset:
    """Images and labels for training, images and labels for testing. inputs: uint8 [sample, 1, row, column]"""
    pairs = [read_pair(images, labels, classes) for images, labels in (train, test)]
    sizes = [images.shape[1:] for images, _ in pairs]
    if sizes[0] != sizes[1]:
        raise DataError(f"images in {train[0]} have shape {sizes[0]}, in {test[0]} {sizes[1]}; bring the right files")
    images, labels = (np.concatenate(both) for both in zip(*pairs, strict=True))
    return Dataset(images[:, None], labels, classes, test=np.arange(len(labels)) >= len(pairs[0][1]))


def read_pair(images: Path, labels: Path, classes: int) -> tuple[Array, Array]:
    """The images [sample, row, column] and the labels [sample] of two idx files that belong together."""
    pixels, numbers = read_idx(images), read_idx(labels)
    for path, array, axes in ((images, pixels, 3), (labels, numbers, 1)):
        if array.ndim != axes:
            raise DataError(f"{path} holds an array of {array.ndim} axes, not {axes}; are images and labels exchanged?")
    if pixels.dtype != np.uint8:
        raise DataError(f"{images} holds {pixels.dtype} numbers; images are bytes, 0 .. 255")
    if len(pixels) != len(numbers):
        raise DataError(f"{images} holds {len(pixels)} images, {labels} {len(numbers)} labels; they are not a pair")
    return pixels, whole_labels(numbers, labels, classes)


def unzipped(path: Path) -> bytes:
    """All of a file, uncompressed if it is compressed by gzip, whatever it is called."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is truncated or damaged ({error}); bring it again") from error
