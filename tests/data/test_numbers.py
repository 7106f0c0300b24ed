"""Labels that are numbers to be predicted, in each format that may hold some."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefed.core import DataError
from surefed.data import DATASETS, Dataset, deal
from surefed.data.clients.own import by_client

INPUTS = np.arange(8, dtype=np.float32).reshape(4, 2)
LABELS = np.array([0.5, 1.0, -2.25, 3.0])


def as_table(folder: Path, labels: Any) -> Dataset:
    rows = [f"{a},{b},{label}" for (a, b), label in zip(INPUTS, labels, strict=True)]
    (folder / "it.csv").write_text("\n".join(["a,b,label", *rows]))
    return DATASETS["table"](path=str(folder / "it.csv"), numbers=True)


def as_npz(folder: Path, labels: Any) -> Dataset:
    np.savez(folder / "it.npz", inputs=INPUTS, labels=labels)
    return DATASETS["npz"](path=str(folder / "it.npz"), numbers=True)


def as_folder(folder: Path, labels: Any) -> Dataset:
    (folder / "sites").mkdir()
    for at, name in ((0, "a"), (2, "b")):
        np.savez(folder / "sites" / f"{name}.npz", inputs=INPUTS[at : at + 2], labels=labels[at : at + 2])
    return DATASETS["folder"](path=str(folder / "sites"), numbers=True)


def as_huggingface(folder: Path, labels: Any) -> Dataset:
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow, of the extra `data`")
    table = pyarrow.table({"x": INPUTS.tolist(), "label": np.asarray(labels).tolist()})
    with pyarrow.OSFile(str(folder / "data.arrow"), "wb") as raw, pyarrow.ipc.new_stream(raw, table.schema) as out:
        out.write_table(table)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    (folder / "dataset_info.json").write_text("{}")
    return DATASETS["huggingface"](path=str(folder), inputs="x", numbers=True)


FORMATS = [as_table, as_npz, as_folder, as_huggingface]


@pytest.mark.parametrize("write", FORMATS)
def test_every_format_keeps_the_numbers(tmp_path: Path, write: Callable[[Path, Any], Dataset]) -> None:
    read = write(tmp_path, LABELS)
    assert read.classes == 0
    assert (read.labels.dtype, read.labels.tolist()) == (np.float32, LABELS.tolist())
    assert np.array_equal(read.inputs, INPUTS)


@pytest.mark.parametrize("write", FORMATS)
def test_a_label_that_is_no_number_is_named(tmp_path: Path, write: Callable[[Path, Any], Dataset]) -> None:
    with pytest.raises(DataError, match="nan") as said:
        write(tmp_path, [0.5, float("nan"), 1.0, 2.0])
    assert any(
        where in str(said.value)
        for where in ("it.csv, row 3", "it.npz: sample 1", "client a: sample 1", "column 'label': sample 1")
    )


@pytest.mark.parametrize("write", [as_npz, as_folder, as_huggingface])
def test_several_numbers_a_sample(tmp_path: Path, write: Callable[[Path, Any], Dataset]) -> None:
    assert write(tmp_path, np.stack([LABELS, -LABELS], axis=1)).labels.shape == (4, 2)


def test_arrays_by_client() -> None:
    read = by_client({"a": (INPUTS, LABELS), "b": (INPUTS, 2 * LABELS)}, numbers=True)
    assert read.labels.tolist() == [*LABELS.tolist(), *(2 * LABELS).tolist()]
    assert deal(read).partition == "natural"
    with pytest.raises(DataError, match=r"client b has labels of shape \(2,\), others of \(\)"):
        by_client({"a": (INPUTS, LABELS), "b": (INPUTS, np.zeros((4, 2)))}, numbers=True)


@pytest.mark.parametrize("partition", ["dirichlet", "pathological", "shards"])
def test_there_are_no_classes_to_deal_out(partition: str) -> None:
    with pytest.raises(DataError, match=f"'{partition}' deals out classes"):
        deal(Dataset(INPUTS, LABELS, 0), 2, partition=partition)
