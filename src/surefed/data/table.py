"""A table, a row a sample."""

from __future__ import annotations

from surefed.data.base import Dataset
from surefed.data.formats import read_table
from surefed.data.formats.base import place_of


def table(
    *, path: str | None = None, label: str = "label", client: str | None = None, numbers: bool = False
) -> Dataset:
    """A CSV or Parquet file: a column of labels, perhaps one of clients (the owners), and columns of numbers.

    numbers: labels are not classes but numbers to be predicted.
    """
    return read_table(place_of(path, "the .csv or .parquet file"), label, client, numbers)
