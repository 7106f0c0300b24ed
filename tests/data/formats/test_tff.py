from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from surefed.core import DataError
from surefed.data import DATASETS
from surefed.data.formats import read_tff


def write(path: Path, writers: dict[str, list[int]]) -> Path:
    """examples/WRITER/{pixels float32 [sample, 28, 28], label int32 [sample]}; a picture of label k is k / 255."""
    h5py = pytest.importorskip("h5py", reason="needs h5py, of the extra `data`")
    with h5py.File(path, "w") as file:
        for writer, labels in writers.items():
            group = file.create_group(f"examples/{writer}")
            group["pixels"] = np.broadcast_to(np.float32(labels)[:, None, None] / 255, (len(labels), 28, 28))
            group["label"] = np.int32(labels)
    return path


def both(folder: Path) -> tuple[Path, Path]:
    train = write(folder / "fed_emnist_train.h5", {"f0001_41": [61, 2], "f0000_14": [10]})
    return train, write(folder / "fed_emnist_test.h5", {"f0000_14": [0], "f0001_41": [2, 2]})


def test_writers_are_owners_in_both_parts(tmp_path: Path) -> None:
    read = read_tff(*both(tmp_path), 62)
    assert read.inputs.shape == (6, 1, 28, 28)
    assert read.inputs.dtype == np.uint8
    assert read.labels.tolist() == [10, 61, 2, 0, 2, 2]  # HDF5 lists groups in alphabetical order
    assert read.inputs[:, 0, 5, 5].tolist() == read.labels.tolist()
    assert read.owners == ("f0000_14", "f0001_41")
    assert read.owner is not None
    assert read.test is not None
    assert read.owner.tolist() == [0, 1, 1, 0, 1, 1]
    assert read.test.tolist() == [False] * 3 + [True] * 3


def test_femnist_reads_it(tmp_path: Path) -> None:
    both(tmp_path)
    read = DATASETS["femnist"](path=str(tmp_path), digits_only=True)
    assert read.labels.tolist() == [2, 0, 2, 2]
    assert read.classes == 10
    assert read.background == 1.0


def test_bad_files(tmp_path: Path) -> None:
    train, test = both(tmp_path)
    with pytest.raises(DataError, match="writer f0001_41: sample 0 has label 61"):
        read_tff(train, test, 61)
    with pytest.raises(DataError, match="labels reach 61, but no sample has label 1;"):
        read_tff(train, test)
    write(test, {"w": []})
    with pytest.raises(DataError, match=r"fed_emnist_test\.h5: writer w .* 0 labels"):
        read_tff(train, test)
    test.write_bytes(train.read_bytes()[:100])
    with pytest.raises(DataError, match=r"fed_emnist_test\.h5 is missing, truncated"):
        read_tff(train, test)
    write(test, {})
    with pytest.raises(DataError, match=r"fed_emnist_test\.h5 is missing, truncated or not a file of federated"):
        read_tff(train, test)


def test_without_h5py_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(DataError, match=r"reading fed_emnist_train\.h5 needs h5py.* pip install h5py"):
        read_tff(tmp_path / "fed_emnist_train.h5", tmp_path / "fed_emnist_test.h5")
