"""A Hugging Face dataset as `save_to_disk` leaves it: Arrow files and two small json files; pyarrow reads it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from surefed.core import DataError
from surefed.core.registry import nearest
from surefed.data.base import Dataset, check_numbers
from surefed.data.formats.base import (
    Array,
    count_classes,
    decoding,
    float32,
    folder_of,
    named_owners,
    optional,
    whole_labels,
)


def read_huggingface(
    folder: Path, inputs: str, label: str, client: str | None = None, numbers: bool = False
) -> Dataset:
    """One dataset, or one with splits of which `test` is the test part; columns are named by the user.

    Pictures become uint8 [sample, channel, row, column]; lists of bytes stay uint8, of other numbers become float32
    [sample, ...]. numbers: labels are numbers to be predicted, not classes.
    """
    folder_of(folder, "what save_to_disk wrote")
    splits = _json(folder / "dataset_dict.json")["splits"] if (folder / "dataset_dict.json").exists() else [None]
    tables = [_arrow(folder if split is None else folder / split) for split in splits]
    columns = tables[0].column_names
    for column in (inputs, label, *([] if client is None else [client])):
        if column not in columns:
            raise DataError(f"{folder} has no column {column!r}; {nearest(column, columns)}")
    first = folder if splits[0] is None else folder / splits[0]
    names = _json(first / "dataset_info.json").get("features", {}).get(label, {}).get("names")
    told, where = _column(folder, tables, label), f"{folder}, column {label!r}"
    labels = check_numbers(told, where) if numbers else whole_labels(told, where, names and len(names))
    classes = 0 if numbers else len(names) if names else count_classes(labels, folder)
    owner, owners = (None, ()) if client is None else named_owners([str(of) for of in _cells(tables, client)])
    test = np.repeat([split == "test" for split in splits], [table.num_rows for table in tables])
    return Dataset(
        inputs=_inputs(folder, _cells(tables, inputs), inputs, "uint8" in str(tables[0].schema.field(inputs).type)),
        labels=labels,
        classes=classes,
        owner=owner,
        owners=owners,
        test=test if "test" in splits and len(splits) > 1 else None,
    )


def _json(path: Path) -> Any:
    with decoding(path, "no json", "save the dataset again with save_to_disk"):
        return json.loads(path.read_bytes())


def _arrow(folder: Path) -> Any:
    """The table of one split; the files are named in its state.json."""
    pyarrow = optional("pyarrow", f"reading {folder}", "pyarrow")
    state = _json(folder / "state.json")
    if state.get("_indices_data_files"):
        raise DataError(f"{folder} is a view of other rows; save it again after flatten_indices()")
    parts = []
    for entry in state.get("_data_files", []):
        path = folder / Path(entry["filename"]).name
        with decoding(path, "no Arrow file"):
            parts.append(pyarrow.ipc.open_stream(path.read_bytes()).read_all())
            parts[-1].validate(full=True)  # offsets in a damaged file may point anywhere
    if not parts:
        raise DataError(f"{folder}/state.json names no data files; save the dataset again with save_to_disk")
    return pyarrow.concat_tables(parts)


def _cells(tables: list[Any], column: str) -> list[Any]:
    return [cell for table in tables for cell in table[column].to_pylist()]


def _column(folder: Path, tables: list[Any], column: str) -> Array:
    cells = _cells(tables, column)
    if any(cell is None for cell in cells):
        raise DataError(f"{folder}, row {cells.index(None)}, column {column!r}: there is no label; drop the row")
    return np.asarray(cells)


def _inputs(folder: Path, cells: list[Any], column: str, in_bytes: bool) -> Array:
    if cells and isinstance(cells[0], dict):
        return _pictures(folder, cells, column)
    try:
        numbers = np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{folder}, column {column!r}: not numbers of one shape ({error})") from error
    if numbers.ndim < 2:
        raise DataError(f"{folder}, column {column!r}: a list of numbers is needed in every row")
    return numbers.astype(np.uint8) if in_bytes else float32(numbers, f"{folder}, column {column!r}")


def _pictures(folder: Path, cells: list[Any], column: str) -> Array:
    """Pictures kept as the bytes of a .png or .jpg. uint8 [picture, channel, row, column]"""
    from PIL import Image

    read = []
    for row, cell in enumerate(cells):
        try:
            with Image.open(io.BytesIO(cell["bytes"])) as picture:
                grey = picture.mode in ("1", "L")
                read.append(np.atleast_3d(np.asarray(picture.convert("L" if grey else "RGB"))))
        except (OSError, TypeError, KeyError, SyntaxError, ValueError) as error:
            raise DataError(f"{folder}, row {row}, column {column!r}: no picture in it ({error})") from error
        if read[-1].shape != read[0].shape:
            raise DataError(f"{folder}, column {column!r}: row 0 is {read[0].shape}, row {row} {read[-1].shape}")
    return np.ascontiguousarray(np.stack(read).transpose(0, 3, 1, 2))
