"""CIFAR-10's binary version: records of a label and 3072 bytes, in five training batches and one for testing."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from surefed.core import DataError
from surefed.data.base import Dataset
from surefed.data.formats.base import decoding, whole_labels

BATCHES = (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin")
RECORD = 1 + 3 * 32 * 32
BRING = "bring cifar-10-binary.tar.gz, the binary version (the python version is pickled, and nothing here unpickles)"


def read_cifar(path: Path) -> Dataset:
    """All six batches of a folder or of the .tar.gz as it was published. inputs: uint8 [sample, 3, 32, 32], RGB"""
    batches = _folder(path) if path.is_dir() else _archive(path)
    rows = []
    for name in BATCHES:
        content = batches[name]
        if not content or len(content) % RECORD:
            raise DataError(
                f"{path}: {name} has {len(content)} bytes, no multiple of {RECORD}; it is truncated, {BRING}"
            )
        row = np.frombuffer(content, np.uint8).reshape(-1, RECORD)
        whole_labels(row[:, 0], f"{path}: {name}", 10)
        rows.append(row)
    table = np.concatenate(rows)
    test = np.arange(len(table)) >= len(table) - len(rows[-1])
    return Dataset(table[:, 1:].reshape(-1, 3, 32, 32), table[:, 0].astype(np.int64), 10, test=test)


def _folder(path: Path) -> Mapping[str, bytes]:
    missing = [name for name in BATCHES if not (path / name).is_file()]
    if missing:
        raise DataError(f"there is no {missing[0]} in {path}; {BRING}")
    return {name: (path / name).read_bytes() for name in BATCHES}


def _archive(path: Path) -> Mapping[str, bytes]:
    """The batches in the archive by their names; nothing is unpacked to the disk."""
    found: dict[str, bytes] = {}
    with decoding(path, "no archive", BRING), tarfile.open(path, "r:*") as archive:
        for member in archive:
            name = Path(member.name).name
            file = archive.extractfile(member) if member.isfile() and name in BATCHES else None
            if file is not None:
                found[name] = file.read()
    missing = [name for name in BATCHES if name not in found]
    if missing:
        raise DataError(f"there is no {missing[0]} in {path}; {BRING}")
    return found
