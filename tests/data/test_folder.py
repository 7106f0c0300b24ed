from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surefed.core import ConfigError, DataError
from surefed.data import cut, deal, load


def save(path: Path, count: int, first: float = 0.0) -> None:
    path.parent.mkdir(exist_ok=True)
    np.savez(path, inputs=np.full((count, 2), first), labels=np.arange(count) % 2)


def test_a_folder_per_client_with_arrays(tmp_path: Path) -> None:
    save(tmp_path / "ann" / "a.npz", 3, 1.0)
    save(tmp_path / "ann" / "b.npz", 4, 2.0)
    save(tmp_path / "bob.npz", 6, 3.0)
    (tmp_path / "README.txt").write_text("nothing to read here")
    made = load("folder", {"path": str(tmp_path)})
    assert made.owners == ("ann", "bob")
    assert made.inputs[:, 0].tolist() == [1.0] * 3 + [2.0] * 4 + [3.0] * 6
    assert made.test is None
    assert cut(made).ids == ("ann", "bob")


def test_files_called_test_are_the_test_part(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        save(tmp_path / name / "train.npz", 5)
        save(tmp_path / name / "test.npz", 2)
    dealt = deal(load("folder", {"path": str(tmp_path)}))
    assert dealt.cut == "published"
    assert dealt.own_test is not None
    assert [len(part) for part in dealt.own_test.values()] == [2, 2]


def table(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_tables_whose_labels_are_names_are_numbered_alike_everywhere(tmp_path: Path) -> None:
    # ann has no cat and bob no ant: ant, bee, cat are 0, 1, 2 for both all the same
    table(tmp_path / "ann" / "x.csv", "size,kind,legs\n1.5,bee,6\n\n2.5,ant,6\n")
    table(tmp_path / "bob" / "x.csv", "size,kind,legs\n30,cat,4\n1,bee,6\n")
    made = load("folder", {"path": str(tmp_path), "label": "kind"})
    assert made.labels.tolist() == [1, 0, 2, 1]
    assert made.classes == 3
    assert made.inputs.tolist() == [[1.5, 6], [2.5, 6], [30, 4], [1, 6]]


def test_tables_whose_labels_are_numbers(tmp_path: Path) -> None:
    table(tmp_path / "ann.csv", "x,label\n1,0\n2,2\n")
    table(tmp_path / "bob.csv", "x,label\n3,1\n4,1\n")
    assert load("folder", {"path": str(tmp_path)}).labels.tolist() == [0, 2, 1, 1]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "holds no client; put a folder"),
        ({"ann/note.txt": "hello"}, "ann has no data"),
        ({"ann/a.csv": "x,y\n1,2\n"}, "a.csv: expected a line of column names, 'label' among them"),
        ({"ann/a.csv": ""}, "expected a line of column names"),
        ({"ann/a.csv": "x,label\n"}, "a line for each sample"),
        ({"ann/a.csv": "x,label\n1,0\n\nred,1\n"}, "a.csv, row 4: could not convert string to float: 'red'"),
        ({"ann/a.csv": "x,label\n1,0\n2\n"}, "a.csv, row 3: 1 cells for 2 columns"),
        ({"ann/test.csv": "x,label\n1,0\n"}, "test.csv is all its client has; add a file to train on"),
        ({"a.csv": "x,y,label\n1,2,0\n", "b.csv": "y,x,label\n1,2,0\n"}, r"b.csv has inputs \('y', 'x'\), but"),
        ({"a.csv": "x,label\n1,cat\n", "b.csv": "x,label\n1,0\n"}, "names in .*a.csv and numbers in .*b.csv"),
        ({"a.npz": "no archive"}, "a.npz"),
        ({"a.csv": "x,label\n1,0.5\n"}, "client a: labels must be whole numbers"),
    ],
)
def test_folders_that_cannot_be_read(tmp_path: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        table(tmp_path / name, text)
    with pytest.raises(DataError, match=message):
        load("folder", {"path": str(tmp_path)})


def test_arrays_that_do_not_fit(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", inputs=np.zeros((3, 2)), labels=[0, 1])
    with pytest.raises(DataError, match=r"a.npz: inputs need shape .* not \(3, 2\), \(2,\)"):
        load("folder", {"path": str(tmp_path)})
    with pytest.raises(DataError, match="there is no folder"):
        load("folder", {"path": str(tmp_path / "elsewhere")})
    with pytest.raises(ConfigError, match=r"set data\.path"):
        load("folder")
