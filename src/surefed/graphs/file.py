"""A graph that somebody wrote down."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from surefed.core import DataError
from surefed.graphs.base import Fixed, Integers, Neighbours, heard, joined

Cells = list[tuple[str, list[str]]]
"""Rows of text, each with the place it came from."""
Array = np.ndarray[Any, Any]


def file(
    clients: int,
    ids: Sequence[str],
    *,
    path: str | None = None,
    directed: bool = False,
    layout: Literal["auto", "edges", "matrix"] = "auto",
) -> Fixed:
    """A graph from a file: an edge list or an adjacency matrix, as .csv, .txt (split at spaces) or .npy.

    An edge is two clients, the sender first, by their names or by their numbers from 0; an entry of a matrix that is
    not 0 says that its row's client sends to its column's. auto: two columns are edges. `#` begins a comment.
    """
    if path is None:
        raise ValueError('path names the file, such as graph.path = "edges.csv"')
    place = Path(path).expanduser()
    found = _array(place) if place.suffix == ".npy" else _text(place)
    if len(found) == 0 and layout != "edges":
        raise DataError(f"{path} is empty; a graph without edges is an edge list: set graph.layout to 'edges'")
    columns = {found.shape[1]} if isinstance(found, np.ndarray) else {len(cells) for _, cells in found}
    if layout == "auto":
        if columns == {2} and len(found) == clients == 2:
            raise DataError(f"{path} has 2 x 2 entries, edges or a matrix; set graph.layout to 'edges' or 'matrix'")
        layout = "edges" if columns == {2} else "matrix"
    if layout == "edges":
        return Fixed(_edges(_cells(found, place), clients, ids, directed))
    return Fixed(_matrix(found if isinstance(found, np.ndarray) else _numbers(found), path, clients, directed))


def _text(path: Path) -> Cells:
    if path.suffix not in (".csv", ".txt"):
        raise DataError(f"{path} is neither .csv, .txt nor .npy; save the graph as one of these")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    texts = [(f"{path}, line {number}", line.partition("#")[0].strip()) for number, line in enumerate(lines, 1)]
    if path.suffix == ".txt":
        return [(where, text.split()) for where, text in texts if text]
    return [(where, [cell.strip() for cell in next(csv.reader([text]))]) for where, text in texts if text]


def _array(path: Path) -> Array:
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _unreadable(path, error) from error
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        shape = getattr(array, "shape", "unknown")
        raise DataError(f"{path} holds an array of shape {shape}; save [edge, 2] or a square matrix")
    whole = array.dtype.kind == "f" and bool((array == np.floor(array)).all())
    return array.astype(np.int64) if whole or array.dtype == bool else array


def _unreadable(path: Path, error: Exception) -> DataError:
    if isinstance(error, FileNotFoundError):
        return DataError(f"there is no file {path}; graph.path is looked up from the folder you run in")
    return DataError(f"cannot read {path}: {error}; save the graph again as text or with numpy.save")


def _cells(found: Cells | Array, path: Path) -> Cells:
    if not isinstance(found, np.ndarray):
        return found
    return [(f"{path}, row {number}", [str(cell) for cell in row]) for number, row in enumerate(found.tolist())]


def _edges(rows: Cells, clients: int, ids: Sequence[str], directed: bool) -> Neighbours:
    for where, cells in rows:
        if len(cells) != 2:
            raise DataError(f"{where}: an edge is two clients, not {len(cells)}: {' '.join(cells)}")
    names = {cell for _, cells in rows for cell in cells}
    by_name = {name: at for at, name in enumerate(ids)}
    by_number = {str(at): at for at in range(clients)}
    place = by_number if names <= by_number.keys() and not names <= by_name.keys() else by_name
    for where, cells in rows:
        for cell in cells:
            if cell not in place:
                raise DataError(
                    f"{where}: there is no client {cell!r}; clients are {ids[0]!r} to {ids[-1]!r}, or all by number, 0 "
                    f"to {clients - 1}; a heading begins with #"
                )
    senders, receivers = _columns([(place[one], place[other]) for _, (one, other) in rows])
    return (heard if directed else joined)(clients, receivers, senders)


def _columns(pairs: list[tuple[int, int]]) -> tuple[Integers, Integers]:
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _numbers(rows: Cells) -> Array:
    for where, cells in rows:
        if len(cells) != len(rows):
            raise DataError(
                f"{where}: a matrix has as many columns as rows, here {len(rows)} rows and {len(cells)} columns; if "
                "these are edges, write two clients in each row"
            )
    return np.array([[_number(cell, where) for cell in cells] for where, cells in rows])


def _number(cell: str, where: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise DataError(f"{where}: {cell!r} is no number; a matrix holds 0 and 1") from None


def _matrix(numbers: Array, path: str, clients: int, directed: bool) -> Neighbours:
    """Neighbours from a matrix [sender, receiver]."""
    if numbers.shape != (clients, clients):
        raise DataError(
            f"{path} is a matrix of {numbers.shape[0]} x {numbers.shape[1]}, but {clients} clients need {clients} x "
            f"{clients}; make them equal"
        )
    if numbers.dtype.kind not in "iuf" or not np.isfinite(numbers).all():
        raise DataError(f"{path} holds what is no finite number; a matrix holds 0 and 1")
    matrix = numbers != 0
    if not directed and not np.array_equal(matrix, matrix.T):
        one, other = np.argwhere(matrix != matrix.T)[0]
        raise DataError(
            f"{path}: rows {one} and {other}, counted from 0, disagree whether these two clients are joined; set "
            "graph.directed to true, or make the matrix symmetric"
        )
    senders, receivers = np.nonzero(matrix)
    return heard(clients, receivers, senders)
