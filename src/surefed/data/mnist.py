"""MNIST: 60 000 + 10 000 handwritten digits, with the writer of each where the tables of writers are there."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np

from surefed.core import DataError
from surefed.data.base import Dataset
from surefed.data.formats import read_idx, read_idx_pairs, read_packed_mnist
from surefed.data.formats.base import Array, named_owners
from surefed.data.store import Found, find, look

QMNIST = ("qmnist-train-labels-idx2-int", "qmnist-test-labels-idx2-int")
WRITER_COLUMN = 2
"""Of QMNIST's extended labels (Yadav and Bottou 2019): class, form series, writer, ..."""


def mnist(*, path: str | None = None) -> Dataset:
    """The digits of LeCun, Cortes and Burges (1998), light on a background of 0; writers are the owners.

    No writer is in both parts: 539 have digits for training, 297 others for testing.
    """
    found = find("mnist") if path is None else look("mnist", Path(path).expanduser())
    digits = read_packed_mnist(found.files[0]) if found.layout == "packed" else _read_idx(found)
    return replace(digits, mean=(0.1307,), std=(0.3081,))


def _read_idx(found: Found) -> Dataset:
    """The four idx files, and writers.csv or QMNIST's tables if they lie beside them."""
    digits = read_idx_pairs(found.files[:2], found.files[2:], 10)
    assert digits.test is not None
    writers = _writers(found.folder, test=int(digits.test.sum()), train=int((~digits.test).sum()))
    if writers is None:
        return digits
    owner, owners = named_owners(writers)
    return replace(digits, owner=owner, owners=owners)


def _writers(folder: Path, train: int, test: int) -> Array | None:
    """Who wrote each digit, training part first. int64 [sample]"""
    table = folder / "writers.csv"
    if table.is_file():
        return _from_csv(table, train, test)
    files = [file for name in QMNIST for file in (folder / name, folder / f"{name}.gz") if file.is_file()]
    if len(files) < len(QMNIST):
        return None
    tables = [read_idx(file) for file in files]
    for file, rows, count in zip(files, tables, (train, test), strict=True):
        if rows.ndim != 2 or len(rows) < count:
            raise DataError(
                f"{file} holds an array of shape {rows.shape}, and there are {count} digits; bring it again"
            )
    return np.concatenate([rows[:count, WRITER_COLUMN] for rows, count in zip(tables, (train, test), strict=True)])


def _from_csv(table: Path, train: int, test: int) -> Array:
    """part,index,writer: one line a digit."""
    try:
        with table.open(newline="") as file:
            rows = {(row["part"], int(row["index"])): int(row["writer"]) for row in csv.DictReader(file)}
        order = [*(("train", at) for at in range(train)), *(("test", at) for at in range(test))]
        return np.array([rows[digit] for digit in order])
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(
            f"{table} does not name the writer of each of {train} + {test} digits ({error!r}); "
            "bring it again, or remove it to go without writers"
        ) from error
