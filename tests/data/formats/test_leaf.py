from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefed.core import ConfigError, DataError
from surefed.core.registry import build
from surefed.data import DATASETS, Dataset
from surefed.data.formats import read_leaf

from .files import leaf

GREY = [[k / 255, 1.0, 0.0, 0.5019607843137255] for k in (0, 7, 200)]


def two_parts(folder: Path) -> Path:
    leaf(folder / "train" / "all_data_0.json", {"b": (GREY[:2], [1, 0])})
    leaf(folder / "train" / "all_data_1.json", {"a": (GREY[2:], [2])})
    leaf(folder / "test" / "all_data_0.json", {"b": (GREY[2:], [1]), "a": (GREY[:1], [0])})
    return folder


def test_users_are_owners_and_255ths_are_bytes(tmp_path: Path) -> None:
    read = read_leaf(two_parts(tmp_path))
    assert read.inputs.dtype == np.uint8
    assert read.inputs.tolist() == [
        [0, 255, 0, 128],
        [7, 255, 0, 128],
        [200, 255, 0, 128],
        [200, 255, 0, 128],
        [0, 255, 0, 128],
    ]
    assert read.labels.tolist() == [1, 0, 2, 1, 0]
    assert read.classes == 3
    assert read.owners == ("a", "b")
    assert read.owner is not None
    assert read.test is not None
    assert [read.owners[at] for at in read.owner] == ["b", "b", "a", "b", "a"]
    assert read.test.tolist() == [False, False, False, True, True]


def test_a_folder_without_parts_has_no_test_part_and_floats_stay_floats(tmp_path: Path) -> None:
    leaf(tmp_path / "data.json", {"u": ([[0.1234, -2.0], [3.0, 4.0]], [0, 1]), "v": ([[0.0, 1.0]], [1])})
    read = read_leaf(tmp_path)
    assert read.test is None
    assert read.inputs.dtype == np.float32
    assert read.inputs == pytest.approx(np.array([[0.1234, -2.0], [3.0, 4.0], [0.0, 1.0]]))


def test_the_dataset_leaf_shapes_its_samples(tmp_path: Path) -> None:
    options = {"path": str(two_parts(tmp_path)), "shape": [1, 2, 2]}
    read = build(DATASETS["leaf"], "dataset", "leaf", options, gives=Dataset)
    assert read.inputs.shape == (5, 1, 2, 2)
    assert read.inputs[1].tolist() == [[[7, 255], [0, 128]]]
    with pytest.raises(DataError, match=r"samples of 4 numbers do not have the shape \(3, 3\)"):
        build(DATASETS["leaf"], "dataset", "leaf", options | {"shape": [3, 3]}, gives=Dataset)
    with pytest.raises(ConfigError, match=r"set data\.path to the folder"):
        build(DATASETS["leaf"], "dataset", "leaf", {}, gives=Dataset)


GOOD = {"u": ([[1.0]], [0])}


@pytest.mark.parametrize(
    ("users", "changes", "message"),
    [
        ({**GOOD, "w": ([], [])}, {}, "user w has no data; take the user out"),
        (GOOD, {"users": ["u", "ghost"], "num_samples": [1, 3]}, "user ghost has no data"),
        (GOOD, {"num_samples": [2]}, "1 x and 1 y, and num_samples says 2"),
        (GOOD, {"num_samples": [1, 1]}, "1 users, but 2 entries in num_samples"),
        ({"u": ([[1.0], [2.0]], [0])}, {}, "2 x and 1 y"),
        ({"u": ([[1.0], [2.0, 3.0]], [0, 1])}, {}, "not numbers of one shape"),
        ({"u": (["to be", "or not"], [0, 1])}, {}, "not numbers of one shape"),
        ({"u": ([[float("nan")]], [0])}, {}, "NaN, infinity"),
        ({"u": ([[1.0], [2.0]], [0, -1])}, {}, "user u: sample 1 has label -1, and labels must start at 0"),
        ({"u": ([[1.0], [2.0]], ["a", "b"])}, {}, "user u: labels must be whole numbers"),
        ({"u": ([[1.0], [2.0]], [0, 2])}, {}, "labels reach 2, but no sample has label 1"),
        ({"u": ([[1.0]], [0]), "v": ([[1.0, 2.0]], [1])}, {}, r"user u have shape \(1,\), those of user v \(2,\)"),
        (GOOD, {"user_data": None}, "is no LEAF file"),
    ],
)
def test_a_bad_file_is_named_with_its_fix(
    tmp_path: Path, users: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    leaf(tmp_path / "all.json", users, **changes)
    with pytest.raises(DataError, match=message) as error:
        read_leaf(tmp_path)
    assert str(tmp_path) in str(error.value)


def test_files_that_are_not_leafs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no \.json file in"):
        read_leaf(tmp_path)
    with pytest.raises(DataError, match="there is no folder"):
        read_leaf(tmp_path / "nowhere")
    path = leaf(tmp_path / "all.json", GOOD)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DataError, match=r"all\.json is missing, truncated or no json"):
        read_leaf(tmp_path)
    path.write_text('{"rows": []}')
    with pytest.raises(DataError, match=r"all\.json is no LEAF file: it needs the keys users"):
        read_leaf(tmp_path)


def test_a_label_beyond_the_known_classes_names_its_user(tmp_path: Path) -> None:
    leaf(tmp_path / "all.json", {"u": ([[1.0]], [62])})
    with pytest.raises(DataError, match=r"user u: sample 0 has label 62, and labels must lie in 0 \.\. 61"):
        read_leaf(tmp_path, 62)
