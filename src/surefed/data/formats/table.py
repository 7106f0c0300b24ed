"""Tables, CSV or Parquet: a row a sample, numbers in every column but that of the label and of the client."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from surefed.core import DataError
from surefed.core.registry import nearest
from surefed.data.base import Dataset
from surefed.data.formats.base import Array, count_classes, decoding, named_owners, optional, whole_labels


class _Table(NamedTuple):
    header: list[str]
    columns: dict[str, list[object]]
    rows: Sequence[int]  # what people call each row: its line in a CSV file


def read_table(path: Path, label: str, client: str | None = None, numbers: bool = False) -> Dataset:
    """The features [sample, column] of a table; labels are whole numbers, or names, numbered in alphabetical order.

    numbers: labels are numbers to be predicted, not classes.
    """
    table = _parquet(path) if path.suffix.lower() in (".parquet", ".pq") else _csv(path)
    for column in (label, *([] if client is None else [client])):
        if column not in table.columns:
            raise DataError(f"{path} has no column {column!r}; {nearest(column, table.columns)}")
    features = [name for name in table.header if name not in (label, client)]
    if not features:
        raise DataError(f"{path} has no columns besides {label!r}; a table needs features to learn from")
    inputs = np.stack([_numbers(path, table, name) for name in features], axis=1)
    labels = _numbers(path, table, label) if numbers else _labels(path, table, label)
    owner, owners = (None, ()) if client is None else named_owners([str(cell) for cell in table.columns[client]])
    return Dataset(inputs, labels, 0 if numbers else count_classes(labels, path), owner, owners)


def _csv(path: Path) -> _Table:
    with decoding(path, "no CSV file in UTF-8"), path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        rows = [(reader.line_num, row) for row in reader if row]
    if len(rows) < 2:
        raise DataError(f"{path} has no rows; a table needs a line of column names and a line a sample")
    header = rows[0][1]
    if len(set(header)) < len(header):
        raise DataError(f"{path}: two columns have the same name; rename one of {header}")
    for line, row in rows[1:]:
        if len(row) != len(header):
            raise DataError(f"{path}, row {line}: {len(row)} cells for {len(header)} columns; is it truncated?")
    columns: dict[str, list[object]] = {name: [row[at] for _, row in rows[1:]] for at, name in enumerate(header)}
    return _Table(header, columns, [line for line, _ in rows[1:]])


def _parquet(path: Path) -> _Table:
    optional("pyarrow", f"reading {path.name}", "pyarrow")
    parquet = optional("pyarrow.parquet", f"reading {path.name}", "pyarrow")
    with decoding(path, "no Parquet file"):
        table = parquet.read_table(path)
        table.validate(full=True)  # offsets in a damaged file may point anywhere
    if table.num_rows == 0:
        raise DataError(f"{path} has no rows; a table needs a row a sample")
    columns = {name: table[name].to_pylist() for name in table.column_names}
    return _Table(list(columns), columns, range(1, table.num_rows + 1))


def _numbers(path: Path, table: _Table, column: str) -> Array:
    """A column as float32, or an error that names the first cell that is no number."""
    cells = table.columns[column]
    try:
        numbers = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([_number(cell) for cell in cells])
    with np.errstate(over="ignore"):
        narrow = numbers.astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(narrow))
    if len(wrong):
        raise DataError(
            f"{path}, row {table.rows[wrong[0]]}, column {column!r}: {cells[wrong[0]]!r} is not a number; "
            "put it right, drop the row, or leave the column out"
        )
    return narrow


def _number(cell: object) -> float:
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")


def _labels(path: Path, table: _Table, column: str) -> Array:
    cells = table.columns[column]
    for at, cell in enumerate(cells):
        if cell is None or str(cell).strip() == "":
            raise DataError(f"{path}, row {table.rows[at]}, column {column!r}: there is no label; drop the row")
    numbers = np.array([_number(cell) for cell in cells])
    if np.isnan(numbers).all():
        return named_owners([str(cell) for cell in cells])[0]
    wrong = np.flatnonzero(~(numbers == np.rint(numbers)) | np.isinf(numbers))
    if len(wrong):
        raise DataError(
            f"{path}, row {table.rows[wrong[0]]}, column {column!r}: {cells[wrong[0]]!r} is no whole number; "
            "labels are 0, 1, 2, ... or names, not both; if they are numbers to be predicted, set data.numbers = true"
        )
    return whole_labels(numbers, f"{path}, column {column!r}")
