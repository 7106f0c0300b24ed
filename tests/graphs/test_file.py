from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefed.core import DataError
from surefed.graphs.file import file

IDS = ("ann", "bob", "cid")
LINE = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
CHAIN = [[1, 0, 0], [1, 1, 0], [0, 1, 1]]  # ann sends to bob, bob to cid: [receiver, sender]


def read(path: Path, **options: Any) -> list[list[int]]:
    graph = file(3, IDS, path=str(path), **options)
    edges: list[list[int]] = graph.edges(0).int().tolist()
    return edges


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("edges.txt", "ann bob\nbob cid\n"),
        ("edges.txt", "# from to\n\n0\t1  # numbers will do\n1 2\n"),
        ("edges.csv", "ann, bob\r\nbob,cid\r\nbob,cid"),
        ("edges.csv", '\ufeff"ann","bob"\n"bob","cid"\n'),
        ("edges.csv", "0,1\n1,2\n2,2\n"),
    ],
)
def test_edge_lists(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, newline="")
    assert read(tmp_path / name) == LINE
    assert read(tmp_path / name, directed=True) == CHAIN


@pytest.mark.parametrize(("name", "gap"), [("matrix.txt", " "), ("matrix.csv", ",")])
def test_matrices(tmp_path: Path, name: str, gap: str) -> None:
    path = tmp_path / name
    path.write_text("\n".join(gap.join(row) for row in ("010", "101", "010")))
    assert read(path) == LINE
    path.write_text("\n".join(gap.join(row) for row in (["0", "0.5", "0"], "001", "000")))
    assert read(path, directed=True) == CHAIN
    with pytest.raises(DataError, match=r"rows 0 and 1, counted from 0, disagree.*graph.directed to true"):
        read(path)


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float32])
def test_arrays(tmp_path: Path, kind: type) -> None:
    matrix = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])  # [sender, receiver]
    np.save(tmp_path / "matrix.npy", matrix.astype(kind))
    assert read(tmp_path / "matrix.npy", directed=True) == CHAIN
    np.save(tmp_path / "matrix.npy", (matrix + matrix.T).astype(kind))
    assert read(tmp_path / "matrix.npy") == LINE
    if kind is not bool:
        np.save(tmp_path / "edges.npy", np.array([[0, 1], [1, 2]], dtype=kind))
        assert read(tmp_path / "edges.npy", directed=True) == CHAIN


def test_names_of_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "edges.npy", np.array([["ann", "bob"], ["bob", "cid"]]))
    assert read(tmp_path / "edges.npy") == LINE


def test_names_come_before_numbers(tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_text("2 1\n")
    by_name = file(3, ("2", "1", "0"), path=str(tmp_path / "edges.txt")).edges(0)
    assert by_name.int().tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]  # clients "2" and "1" are the first two


def test_two_by_two_must_be_told(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    path.write_text("1 1\n1 1\n")
    with pytest.raises(DataError, match=r"edges or a matrix; set graph.layout"):
        file(2, IDS[:2], path=str(path))
    assert file(2, IDS[:2], path=str(path), layout="matrix").edges(0).all()
    assert file(2, IDS[:2], path=str(path), layout="edges").edges(0).int().tolist() == [[1, 0], [0, 1]]


def test_no_edges_at_all(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("# nobody hears anybody\n")
    assert read(tmp_path / "empty.txt", layout="edges") == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    with pytest.raises(DataError, match=r"is empty.*graph.layout to 'edges'"):
        read(tmp_path / "empty.txt")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("edges.txt", "ann bob\nbob dan\n", "line 2: there is no client 'dan'; clients are 'ann' to 'cid', or all by"),
        ("edges.csv", "from,to\nann,bob\n", "line 1: there is no client 'from'.*a heading begins with #"),
        ("edges.txt", "1 2\n2 3\n", "line 1: there is no client '1'.*0 to 2"),
        ("edges.txt", "ann 1\n", "there is no client '1'"),
        ("matrix.txt", "0 1 0\n1 0 1\n", "2 rows and 3 columns; if these are edges"),
        ("matrix.txt", "0 1 0\n1 0\n0 1 0\n", "line 2: a matrix has as many columns as rows"),
        ("matrix.csv", "0,1,0\n1,0,x\n0,1,0\n", "line 2: 'x' is no number"),
        ("matrix.csv", "0,1,0\n1,0,nan\n0,1,0\n", "no finite number; a matrix holds 0 and 1"),
        ("matrix.txt", "0 1 0 0\n" * 4, "a matrix of 4 x 4, but 3 clients need 3 x 3"),
        ("graph.gml", "graph []", "neither .csv, .txt nor .npy"),
        ("graph.npy", "0 1\n1 2", "cannot read.*numpy.save"),
        ("graph.npy", "", "cannot read.*numpy.save"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message) as raised:
        read(tmp_path / name)
    assert name in str(raised.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot read"):
        read(tmp_path / "edges.txt")


def test_missing_files(tmp_path: Path) -> None:
    for name in ("edges.txt", "edges.npy"):
        with pytest.raises(DataError, match=r"there is no file.*from the folder you run in"):
            read(tmp_path / name)
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(DataError, match="cannot read"):
        read(tmp_path / "folder.txt")
    with pytest.raises(ValueError, match="path names the file, such as"):
        file(3, IDS)


def test_arrays_of_other_shapes_and_kinds(tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.arange(9))
    with pytest.raises(DataError, match=r"shape \(9,\); save \[edge, 2\] or a square matrix"):
        read(tmp_path / "flat.npy")
    np.save(tmp_path / "wide.npy", np.ones((3, 4)))
    with pytest.raises(DataError, match="a matrix of 3 x 4, but 3 clients need 3 x 3"):
        read(tmp_path / "wide.npy")
    np.save(tmp_path / "objects.npy", np.array([[object()] * 3] * 3), allow_pickle=True)
    with pytest.raises(DataError, match="cannot read"):
        read(tmp_path / "objects.npy")
    np.save(tmp_path / "words.npy", np.array([["a"] * 3] * 3))
    with pytest.raises(DataError, match="no finite number"):
        read(tmp_path / "words.npy")
    np.savez(tmp_path / "several.npz", one=np.ones((3, 3)))
    (tmp_path / "several.npz").rename(tmp_path / "several.npy")
    with pytest.raises(DataError, match="save \\[edge, 2\\] or a square matrix"):
        read(tmp_path / "several.npy")
