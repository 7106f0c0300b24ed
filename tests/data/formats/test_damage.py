"""Whatever happens to a file, a reader gives data or a DataError, and nothing else."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from surefed.core import DataError
from surefed.data.formats import (
    read_cifar,
    read_huggingface,
    read_idx,
    read_images,
    read_leaf,
    read_npz,
    read_table,
    read_tff,
)

from .files import cifar, idx, leaf

Reader = Callable[[Path], Any]


def _idx(folder: Path) -> tuple[Path, Reader]:
    return idx(folder / "a", np.arange(60).reshape(3, 4, 5)), read_idx


def _idx_gz(folder: Path) -> tuple[Path, Reader]:
    return idx(folder / "a.gz", np.arange(60).reshape(3, 4, 5)), read_idx


def _npz(folder: Path) -> tuple[Path, Reader]:
    np.savez_compressed(folder / "a.npz", inputs=np.arange(12.0).reshape(4, 3), labels=[0, 1, 1, 0])
    return folder / "a.npz", read_npz


def _leaf(folder: Path) -> tuple[Path, Reader]:
    users = {"u": ([[0.5, 1.0], [0.25, 0.0]], [0, 1]), "v": ([[0.5, 0.5]], [1])}
    return leaf(folder / "a.json", users), lambda path: read_leaf(path.parent)


def _table(folder: Path) -> tuple[Path, Reader]:
    (folder / "a.csv").write_text('x,"y",label\n1,2.5,a\n"3",4e1,b\n')
    return folder / "a.csv", lambda path: read_table(path, "label")


def _parquet(folder: Path) -> tuple[Path, Reader]:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"x": [1.0, 2.0], "label": [0, 1]}), folder / "a.parquet")
    return folder / "a.parquet", lambda path: read_table(path, "label")


def _huggingface(folder: Path) -> tuple[Path, Reader]:
    pytest.importorskip("pyarrow")
    from .test_huggingface import save_to_disk

    save_to_disk(folder, {"x": [[1.0], [2.0]], "y": [0, 1]}, {})
    return folder / "data-00000-of-00001.arrow", lambda path: read_huggingface(path.parent, "x", "y")


def _tff(folder: Path) -> tuple[Path, Reader]:
    pytest.importorskip("h5py")
    from .test_tff import write

    test = write(folder / "test.h5", {"w": [0, 1]})
    return write(folder / "train.h5", {"w": [1, 0]}), lambda path: read_tff(path, test)


def _tar(folder: Path) -> tuple[Path, Reader]:
    cifar(folder / "bin", per_batch=1)
    with tarfile.open(folder / "c.tar.gz", "w:gz") as tar:
        tar.add(folder / "bin", "cifar-10-batches-bin")
    return folder / "c.tar.gz", read_cifar


def _png(folder: Path) -> tuple[Path, Reader]:
    (folder / "class").mkdir()
    Image.fromarray(np.arange(48, dtype=np.uint8).reshape(6, 8)).save(folder / "class" / "a.png")
    return folder / "class" / "a.png", lambda path: read_images(path.parent.parent)


def _jpeg(folder: Path) -> tuple[Path, Reader]:
    (folder / "class").mkdir()
    Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(folder / "class" / "a.jpg")
    return folder / "class" / "a.jpg", lambda path: read_images(path.parent.parent)


WRITERS = [_idx, _idx_gz, _npz, _leaf, _table, _parquet, _huggingface, _tff, _tar, _png, _jpeg]


@pytest.mark.filterwarnings("ignore:Possibly corrupt EXIF", "ignore:Corrupt EXIF", "ignore:.*Truncated File Read")
@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__[1:])
def test_a_damaged_file_is_data_or_a_data_error(tmp_path: Path, write: Callable[[Path], tuple[Path, Reader]]) -> None:
    path, read = write(tmp_path)
    content = path.read_bytes()
    read(path)
    rng = np.random.default_rng(0)
    damaged = [content[:length] for length in np.unique(rng.integers(0, len(content), 60))]
    for _ in range(120):
        other = bytearray(content)
        for at in rng.integers(0, len(content), rng.integers(1, 4)):
            other[at] = rng.integers(0, 256)
        damaged.append(bytes(other))
    said = []
    for other in damaged:
        path.write_bytes(other)
        try:
            read(path)
        except DataError as error:
            said.append(str(error))
    assert len(said) > 20
    assert all(str(tmp_path) in message for message in said)
