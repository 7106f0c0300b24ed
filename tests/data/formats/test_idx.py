from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from surefed.core import DataError
from surefed.data.formats import read_idx, read_idx_pairs

from .files import IDX_NAMES, idx, mnist_like


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    ("kind", "dtype"), [(0x08, ">u1"), (0x09, ">i1"), (0x0B, ">i2"), (0x0C, ">i4"), (0x0D, ">f4"), (0x0E, ">f8")]
)
def test_every_kind_of_number_comes_back(tmp_path: Path, suffix: str, kind: int, dtype: str) -> None:
    array = np.arange(24).reshape(2, 3, 4)
    read = read_idx(idx(tmp_path / f"a{suffix}", array, kind, dtype))
    assert np.array_equal(read, array)
    assert read.dtype == np.dtype(dtype).newbyteorder("=")


def test_bytes_by_hand(tmp_path: Path) -> None:
    # magic 00 00 | 08 = unsigned bytes | 02 = two axes; axes 2 and 3; six numbers in rows
    (tmp_path / "a").write_bytes(bytes.fromhex("00000802 00000002 00000003 010203 0405ff"))
    assert read_idx(tmp_path / "a").tolist() == [[1, 2, 3], [4, 5, 255]]


def test_four_files_make_a_dataset(tmp_path: Path) -> None:
    images, labels = mnist_like(tmp_path)
    files = [tmp_path / f"{name}.gz" for name in IDX_NAMES]
    read = read_idx_pairs(files[:2], files[2:], 10)
    assert np.array_equal(read.inputs[:, 0], images)
    assert read.labels.tolist() == labels.tolist()
    assert read.test is not None
    assert read.test.tolist() == [False] * 20 + [True] * 10


def broken(folder: Path, what: str) -> None:
    images, labels = folder / f"{IDX_NAMES[0]}.gz", folder / f"{IDX_NAMES[1]}.gz"
    plain = gzip.decompress(images.read_bytes())
    match what:
        case "cut gzip":
            images.write_bytes(images.read_bytes()[:-20])
        case "damaged gzip":
            images.write_bytes(images.read_bytes()[:12] + b"\xff" * 30)
        case "cut idx":
            images.write_bytes(plain[:-1])
        case "cut header":
            images.write_bytes(plain[:7])
        case "longer":
            images.write_bytes(plain + b"\0")
        case "web page":
            images.write_bytes(b"<html>404</html>")
        case "empty":
            images.write_bytes(b"")
        case "exchanged":
            other = labels.read_bytes()
            labels.write_bytes(images.read_bytes())
            images.write_bytes(other)
        case "floats":
            idx(images, np.zeros((20, 28, 28)), 0x0D, ">f4")
        case "fewer labels":
            idx(labels, np.zeros(19))
        case "label 10":
            idx(labels, np.arange(20) % 11)
        case "other size":
            idx(images, np.zeros((20, 8, 8)))
        case "missing":
            images.unlink()


@pytest.mark.parametrize(
    ("what", "file", "message"),
    [
        ("cut gzip", 0, "truncated or damaged .* bring it again"),
        ("damaged gzip", 0, "truncated or damaged .* bring it again"),
        ("cut idx", 0, r"is truncated: 15679 bytes of data, not 15680 for \(20, 28, 28\)"),
        ("cut header", 0, "ends within its header"),
        ("longer", 0, "longer than its header says"),
        ("web page", 0, "begins with 3c 68 74 6d, not with 00 00"),
        ("empty", 0, "begins with nothing"),
        ("exchanged", 0, "are images and labels exchanged"),
        ("floats", 0, "images are bytes"),
        ("fewer labels", 1, "20 images, .* 19 labels"),
        ("label 10", 1, r"sample 10 has label 10, and labels must lie in 0 .. 9"),
        ("other size", 0, r"\(8, 8\), in .* \(28, 28\)"),
        ("missing", 0, "cannot read .* No such file"),
    ],
)
def test_a_bad_file_is_named_with_its_fix(tmp_path: Path, what: str, file: int, message: str) -> None:
    mnist_like(tmp_path)
    broken(tmp_path, what)
    files = [tmp_path / f"{name}.gz" for name in IDX_NAMES]
    with pytest.raises(DataError, match=message) as error:
        read_idx_pairs(files[:2], files[2:], 10)
    assert IDX_NAMES[file] in str(error.value)
