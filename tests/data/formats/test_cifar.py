from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from surefed.core import DataError
from surefed.data.formats import read_cifar

from .files import cifar


def archive(folder: Path, path: Path, prefix: str = "cifar-10-batches-bin/") -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for file in sorted(folder.iterdir(), reverse=True):  # the published archive is in no special order
            tar.add(file, f"{prefix}{file.name}")
    return path


def test_a_folder_and_the_archive_read_alike(tmp_path: Path) -> None:
    pictures, labels = cifar(tmp_path / "bin")
    (tmp_path / "bin" / "readme.html").write_text("not a batch")
    packed = archive(tmp_path / "bin", tmp_path / "cifar-10-binary.tar.gz")
    for path in (tmp_path / "bin", packed):
        read = read_cifar(path)
        assert np.array_equal(read.inputs, pictures)
        assert read.labels.tolist() == labels.tolist()
        assert read.labels.dtype == np.int64
        assert read.test is not None
        assert read.test.tolist() == [False] * 20 + [True] * 4


def test_a_record_by_hand(tmp_path: Path) -> None:
    # one label byte, then 1024 red, 1024 green and 1024 blue bytes, rows first: byte 1 + 1024 + 32 + 3 is green (1, 3)
    cifar(tmp_path, per_batch=1)
    record = bytearray(3073)
    record[0], record[1 + 1024 + 32 + 3] = 7, 99
    (tmp_path / "data_batch_1.bin").write_bytes(bytes(record))
    read = read_cifar(tmp_path)
    assert read.labels[0] == 7
    assert np.argwhere(read.inputs[0]).tolist() == [[1, 1, 3]]


def test_an_archive_cannot_write_anywhere(tmp_path: Path) -> None:
    cifar(tmp_path / "bin")
    path = tmp_path / "evil.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for file in (tmp_path / "bin").iterdir():
            tar.add(file, f"../../{file.name}")
        link = tarfile.TarInfo("data_batch_1.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    before = sorted(tmp_path.rglob("*"))
    assert len(read_cifar(path).labels) == 24
    assert sorted(tmp_path.rglob("*")) == before


def test_bad_files_are_named_with_their_fix(tmp_path: Path) -> None:
    cifar(tmp_path / "bin")
    path = archive(tmp_path / "bin", tmp_path / "c.tar.gz")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DataError, match=r"c\.tar\.gz is missing, truncated or no archive .* bring cifar-10-binary"):
        read_cifar(path)
    with pytest.raises(DataError, match=r"nowhere is missing"):
        read_cifar(tmp_path / "nowhere")
    first = tmp_path / "bin" / "data_batch_1.bin"
    first.write_bytes(first.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"data_batch_1\.bin has 12291 bytes, no multiple of 3073; it is truncated"):
        read_cifar(tmp_path / "bin")
    first.write_bytes(b"\x0a" + bytes(3072))
    with pytest.raises(DataError, match=r"data_batch_1\.bin: sample 0 has label 10"):
        read_cifar(tmp_path / "bin")
    first.unlink()
    with pytest.raises(DataError, match=r"no data_batch_1\.bin in .*bin; bring cifar-10-binary"):
        read_cifar(tmp_path / "bin")


def test_the_pickled_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cifar-10-python.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo("cifar-10-batches-py/data_batch_1")
        member.size = 4
        tar.addfile(member, io.BytesIO(b"\x80\x02}."))
    with pytest.raises(
        DataError, match=r"the binary version \(the python version is pickled, and nothing here unpickles"
    ):
        read_cifar(path)
