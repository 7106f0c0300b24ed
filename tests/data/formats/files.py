"""Small files in every format, written by hand from what the formats' authors say of them."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

IDX_NAMES = [f"{part}-{what}-ubyte" for part in ("train", "t10k") for what in ("images-idx3", "labels-idx1")]


def idx(path: Path, array: Any, kind: int = 0x08, dtype: str = ">u1") -> Path:
    """Two zero bytes, the kind, the number of axes, each axis as a big-endian uint32, then the numbers."""
    array = np.asarray(array)
    content = struct.pack(">HBB", 0, kind, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    content += array.astype(dtype).tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


def mnist_like(folder: Path, suffix: str = ".gz", train: int = 20, test: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Four idx files; image i is i everywhere and has the label i modulo 10. Gives images and labels of both parts."""
    images = np.arange(train + test, dtype=np.uint8)[:, None, None].repeat(28, 1).repeat(28, 2)
    labels = np.arange(train + test) % 10
    for name, array in zip(IDX_NAMES, (images[:train], labels[:train], images[train:], labels[train:]), strict=True):
        idx(folder / f"{name}{suffix}", array)
    return images, labels


def leaf(path: Path, given: Mapping[str, tuple[Sequence[Any], Sequence[int]]], **changes: Any) -> Path:
    """given: the x and y of each user; changes: of the file's own keys."""
    content = {
        "users": list(given),
        "num_samples": [len(y) for _, y in given.values()],
        "user_data": {user: {"x": list(x), "y": list(y)} for user, (x, y) in given.items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content | changes))
    return path


def cifar(folder: Path, per_batch: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Six batches; picture i has red i, green i + 1 and blue i + 2 everywhere. Gives pictures and labels."""
    folder.mkdir(parents=True, exist_ok=True)
    labels = np.arange(6 * per_batch, dtype=np.uint8) % 10
    red = np.arange(6 * per_batch, dtype=np.uint8)
    pictures = np.stack([red, red + 1, red + 2], axis=1)[:, :, None, None].repeat(32, 2).repeat(32, 3)
    names = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
    for at, name in enumerate(names):
        part = slice(at * per_batch, (at + 1) * per_batch)
        rows = np.concatenate([labels[part, None], pictures[part].reshape(per_batch, -1)], axis=1)
        (folder / name).write_bytes(rows.tobytes())
    return pictures, labels
