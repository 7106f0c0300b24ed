"""A folder per client, as sites keep their own data."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefed.core import DataError
from surefed.data.base import Dataset
from surefed.data.clients.own import by_client
from surefed.data.formats.npz import arrays_of

READABLE = (".npz", ".csv")


class File(NamedTuple):
    """What one file holds. inputs: [sample, ...]; labels: [sample], numbers or names; columns: those of a table."""

    path: Path
    inputs: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]
    columns: tuple[str, ...] | None = None

    @property
    def test(self) -> bool:
        """Whether it is a test part."""
        return self.path.stem.lower() == "test"


def folder(*, path: str | None = None, label: str = "label", numbers: bool = False) -> Dataset:
    """Your own data: in the folder `path` a folder per client, with .npz files (inputs, labels) or .csv tables.

    The files of a client are put together; those called test.npz or test.csv are its test part. Instead of a folder,
    a client may have one file. Tables have a line of column names; the column `label` is the label, all others are
    numbers. Labels are 0, 1, 2, ... or, everywhere, names, which are numbered in alphabetical order; with the option
    `numbers`, they are numbers to be predicted.
    """
    if path is None:
        raise ValueError("set data.path to the folder that holds a folder per client")
    root = Path(path)
    if not root.is_dir():
        raise DataError(f"there is no folder {root}; data.path is the folder that holds a folder per client")
    clients = {name: [_read(file, label) for file in files] for name, files in _clients(root)}
    if not clients:
        raise DataError(f"{root} holds no client; put a folder with {' or '.join(READABLE)} files into it for each")
    everything = [file for files in clients.values() for file in files]
    _check_alike(everything)
    number = {} if numbers else _numbering(everything)
    return by_client({name: _parts(files, number) for name, files in clients.items()}, numbers=numbers)


def _clients(root: Path) -> Iterator[tuple[str, list[Path]]]:
    """The name and the files of every client, in alphabetical order."""
    for entry in sorted(root.iterdir()):
        if entry.is_dir() and not entry.name.startswith("."):
            files = sorted(file for file in entry.iterdir() if file.suffix.lower() in READABLE)
            if not files:
                raise DataError(f"{entry} has no data; put {' or '.join(READABLE)} files into it, or remove it")
            yield entry.name, files
        elif entry.suffix.lower() in READABLE:
            yield entry.stem, [entry]


def _parts(files: list[File], number: dict[str, int]) -> list[np.ndarray[Any, Any]]:
    """A client's training samples and, if a file is called test, its test samples."""
    parts = []
    for test in (False, True):
        chosen = [file for file in files if file.test is test]
        if not chosen and not test:
            raise DataError(f"{files[0].path} is all its client has; add a file to train on")
        if chosen:
            labels = np.concatenate([file.labels for file in chosen])
            parts.append(np.concatenate([file.inputs for file in chosen]))
            parts.append(np.array([number[str(name)] for name in labels]) if number else labels)
    return parts


def _check_alike(files: list[File]) -> None:
    """All files have inputs of one shape, and tables the same columns in the same order."""
    first = files[0]
    for file in files:
        if file.inputs.shape[1:] != first.inputs.shape[1:] or file.columns != first.columns:
            mine, others = file.columns or file.inputs.shape[1:], first.columns or first.inputs.shape[1:]
            raise DataError(f"{file.path} has inputs {mine}, but {first.path} has {others}; make them alike")


def _numbering(files: list[File]) -> dict[str, int]:
    """The number of each class, the same for all clients, where labels are names; empty where they are numbers."""
    named = [file for file in files if file.labels.dtype.kind == "U"]
    if not named:
        return {}
    if len(named) < len(files):
        other = next(file for file in files if file.labels.dtype.kind != "U")
        raise DataError(f"labels are names in {named[0].path} and numbers in {other.path}; make them alike")
    return {str(name): at for at, name in enumerate(np.unique(np.concatenate([file.labels for file in named])))}


def _read(path: Path, label: str) -> File:
    if path.suffix.lower() == ".csv":
        return _table(path, label)
    arrays = arrays_of(path, ("inputs", "labels"))
    inputs, labels = arrays["inputs"], arrays["labels"]
    if inputs.ndim < 2 or labels.shape[:1] != (len(inputs),):
        raise DataError(
            f"{path}: inputs need shape [sample, ...] and labels [sample], as many; not {inputs.shape}, {labels.shape}"
        )
    return File(path, inputs, labels)


def _table(path: Path, label: str) -> File:
    """The features and labels of a table, or an error that names the first row at fault."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream)
            rows = [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is no CSV file in UTF-8 ({error})") from error
    header = rows[0][1] if rows else []
    if label not in header or len(header) < 2 or len(rows) < 2:
        raise DataError(f"{path}: expected a line of column names, {label!r} among them, and a line for each sample")
    at = header.index(label)
    values = []
    for line, row in rows[1:]:
        if len(row) != len(header):
            raise DataError(f"{path}, row {line}: {len(row)} cells for {len(header)} columns; is it truncated?")
        try:
            values.append([float(cell) for place, cell in enumerate(row) if place != at])
        except ValueError as error:
            raise DataError(f"{path}, row {line}: {error}; only the column {label!r} may hold words") from error
    cells = [row[at].strip() for _, row in rows[1:]]
    columns = tuple(name for place, name in enumerate(header) if place != at)
    return File(path, np.array(values, dtype=np.float32), _labels(cells), columns)


def _labels(cells: list[str]) -> np.ndarray[Any, Any]:
    """Numbers if all are, else names."""
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:
        return np.array(cells)
