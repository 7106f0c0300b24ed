from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefed.core import DataError
from surefed.data import DATASETS
from surefed.data.formats import read_npz, read_packed_cifar, read_packed_femnist, read_packed_mnist

INPUTS, LABELS = np.arange(12, dtype=np.uint8).reshape(3, 1, 2, 2), np.array([0, 1, 0])


def test_every_field_comes_back(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "a.npz",
        inputs=INPUTS,
        labels=LABELS,
        classes=4,
        owner=[1, 0, 1],
        owners=["x", "y"],
        test=[False, True, False],
        background=1.0,
        mean=[0.5],
        std=0.25,
    )
    read = read_npz(tmp_path / "a.npz")
    assert np.array_equal(read.inputs, INPUTS)
    assert (read.classes, read.owners, read.background, read.mean, read.std) == (4, ("x", "y"), 1.0, (0.5,), (0.25,))
    assert read.owner is not None
    assert read.test is not None
    assert (read.owner.tolist(), read.test.tolist()) == ([1, 0, 1], [False, True, False])


def test_labels_of_any_kind_of_whole_number(tmp_path: Path) -> None:
    for kind in ("bool", "u1", "i2", "f4", "f8", "u8"):
        np.savez(tmp_path / "a.npz", inputs=INPUTS, labels=LABELS.astype(kind))
        read = read_npz(tmp_path / "a.npz")
        assert (read.labels.tolist(), read.labels.dtype) == ([0, 1, 0], np.int64)


def test_two_arrays_are_enough_and_owners_may_be_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", inputs=[[1.5], [2.0], [3.0]], labels=LABELS, owner=["site b", "site a", "site b"])
    read = DATASETS["npz"](path=str(tmp_path / "a.npz"))
    assert read.inputs.dtype == np.float32
    assert read.classes == 2
    assert (read.owners, read.test, read.mean) == (("site a", "site b"), None, None)
    assert read.owner is not None
    assert read.owner.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"inputs": INPUTS}, "holds no array 'labels'"),
        ({"inputs": INPUTS, "label": LABELS}, "holds no array 'labels'; did you mean 'label'"),
        ({"inputs": INPUTS, "labels": LABELS, "ownr": LABELS}, "holds an array 'ownr'; did you mean 'owner'"),
        ({"inputs": INPUTS, "labels": LABELS[:2]}, r"3 inputs need as many labels, not shape \(2,\)"),
        ({"inputs": INPUTS, "labels": LABELS, "test": [True]}, "3 inputs need as many test"),
        ({"inputs": LABELS, "labels": LABELS}, r"inputs must be numbers of shape \[sample, ...\]"),
        ({"inputs": [["a"], ["b"]], "labels": [0, 1]}, "inputs must be numbers"),
        ({"inputs": [[1.0], [np.nan]], "labels": [0, 1]}, "NaN, infinity"),
        ({"inputs": INPUTS, "labels": [0, 1, 4], "classes": 4}, r"sample 2 has label 4, and labels must lie in 0 .. 3"),
        ({"inputs": INPUTS, "labels": [0, 1, 3]}, "no sample has label 2"),
        ({"inputs": INPUTS, "labels": [0, 0.5, 1]}, "whole numbers"),
        ({"inputs": INPUTS, "labels": [0, np.nan, 1]}, "whole numbers"),
        ({"inputs": INPUTS, "labels": [0, 1e300, 1]}, "whole numbers"),
        ({"inputs": INPUTS, "labels": [0, 2**40, 1]}, "no sample has label 2"),
        ({"inputs": INPUTS, "labels": LABELS, "owner": [0, 1, 2], "owners": ["x", "y"]}, "owner: sample 2 has label 2"),
        ({"inputs": np.zeros((0, 2)), "labels": np.zeros(0)}, "no samples"),
        ({"inputs": INPUTS, "labels": np.array([{}, 1, 2], dtype=object)}, "write plain arrays, not objects"),
    ],
)
def test_a_bad_file_is_named_with_its_fix(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=message) as error:
        read_npz(tmp_path / "a.npz")
    assert "a.npz" in str(error.value)


def test_files_that_are_no_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", inputs=INPUTS, labels=LABELS)
    (tmp_path / "a.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-30])
    np.save(tmp_path / "b.npy", INPUTS)
    (tmp_path / "c.npz").write_bytes(b"")
    for name in ("a.npz", "b.npy", "c.npz", "nowhere.npz"):
        with pytest.raises(DataError, match=rf"{name} is missing, truncated or no \.npz file"):
            read_npz(tmp_path / name)


def test_packed_mnist_and_femnist(tmp_path: Path) -> None:
    images = np.zeros((2, 28, 28), dtype=np.uint8)
    parts = {"images": images, "labels": np.uint8([3, 4]), "writer": np.int16([70, 8])}
    other = {"images": images, "labels": np.uint8([5, 6]), "writer": np.int16([9, 9])}
    both = {f"train_{k}": v for k, v in parts.items()} | {f"test_{k}": v for k, v in other.items()}
    np.savez(tmp_path / "mnist.npz", **both)
    read = read_packed_mnist(tmp_path / "mnist.npz")
    assert read.owner is not None
    assert read.test is not None
    assert [read.owners[at] for at in read.owner] == ["70", "8", "9", "9"]
    assert read.owners == ("8", "9", "70")  # sorted as numbers
    assert read.test.tolist() == [False, False, True, True]
    np.savez(tmp_path / "femnist.npz", **parts | {"writer": [0, 1], "writer_names": ["f1", "f2"], "split": [1, 0]})
    read = read_packed_femnist(tmp_path / "femnist.npz")
    assert read.test is not None
    assert (read.inputs.shape, read.classes, read.owners) == ((2, 1, 28, 28), 62, ("f1", "f2"))
    assert read.test.tolist() == [True, False]
    np.savez(tmp_path / "mnist.npz", **both | {"train_writer": np.int16([1])})
    with pytest.raises(DataError, match=r"mnist\.npz: its arrays differ in length \(images 4, labels 4, writer 3\)"):
        read_packed_mnist(tmp_path / "mnist.npz")


def test_packed_cifar_is_decoded(tmp_path: Path) -> None:
    # the inverse of the cumulative sums, written out: differences along rows and columns, red and blue less green
    pictures = np.random.default_rng(0).integers(0, 256, (6, 3, 32, 32), dtype=np.uint8)
    coded = pictures.copy()
    coded[:, 0] -= pictures[:, 1]
    coded[:, 2] -= pictures[:, 1]
    coded = np.diff(np.diff(coded, axis=3, prepend=np.uint8(0)), axis=2, prepend=np.uint8(0))
    for name, part in (("1", slice(0, 2)), ("2", slice(2, 4)), ("t", slice(4, 6))):
        np.savez(tmp_path / f"{name}.npz", residual=coded[part], labels=np.uint8([0, 9]))
    read = read_packed_cifar([tmp_path / "1.npz", tmp_path / "2.npz"], tmp_path / "t.npz")
    assert np.array_equal(read.inputs, pictures)
    assert read.test is not None
    assert read.test.tolist() == [False] * 4 + [True] * 2
