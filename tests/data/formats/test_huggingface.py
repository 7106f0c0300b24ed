from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from surefed.core import DataError
from surefed.data import DATASETS
from surefed.data.formats import read_huggingface

pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow, of the extra `data`")


def save_to_disk(folder: Path, columns: dict[str, Any], features: dict[str, Any], shards: int = 1) -> Path:
    """The layout of datasets.Dataset.save_to_disk: Arrow streams, state.json and dataset_info.json."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pyarrow.table(columns)
    names = [f"data-{at:05}-of-{shards:05}.arrow" for at in range(shards)]
    size = -(-table.num_rows // shards)
    for at, name in enumerate(names):
        part = table.slice(at * size, size)
        with pyarrow.OSFile(str(folder / name), "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(part)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}))
    return folder


def png(value: int, size: tuple[int, int] = (4, 3), mode: str = "L") -> dict[str, Any]:
    kept = io.BytesIO()
    Image.new(mode, size, value).save(kept, "png")
    return {"bytes": kept.getvalue(), "path": None}


PICTURES = {"image": [png(7), png(8), png(9)], "label": [1, 0, 1], "site": ["u", "a", "u"]}
FEATURES = {"image": {"_type": "Image"}, "label": {"names": ["cat", "dog", "emu"], "_type": "ClassLabel"}}


def test_pictures_labels_and_clients_from_two_files(tmp_path: Path) -> None:
    save_to_disk(tmp_path, PICTURES, FEATURES, shards=2)
    read = DATASETS["huggingface"](path=str(tmp_path), client="site")
    assert read.inputs.shape == (3, 1, 3, 4)
    assert read.inputs[:, 0, 0, 0].tolist() == [7, 8, 9]
    assert (read.labels.tolist(), read.classes, read.test) == ([1, 0, 1], 3, None)  # emu is a class without a sample
    assert read.owner is not None
    assert (read.owner.tolist(), read.owners) == ([1, 0, 1], ("a", "u"))


def test_splits_and_numbers(tmp_path: Path) -> None:
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    save_to_disk(tmp_path / "train", {"x": [[1.0, 2.0], [3.0, 4.5]], "y": [0, 1]}, {})
    save_to_disk(tmp_path / "test", {"x": [[5.0, 6.0]], "y": [1]}, {})
    read = read_huggingface(tmp_path, "x", "y")
    assert read.inputs.tolist() == [[1.0, 2.0], [3.0, 4.5], [5.0, 6.0]]
    assert read.inputs.dtype == np.float32
    assert read.test is not None
    assert (read.test.tolist(), read.classes) == ([False, False, True], 2)


def test_lists_of_bytes_stay_bytes(tmp_path: Path) -> None:
    rows = pyarrow.array([[[0, 255], [7, 8]], [[1, 2], [3, 4]]], pyarrow.list_(pyarrow.list_(pyarrow.uint8())))
    save_to_disk(tmp_path, {"x": rows, "y": [0, 1]}, {})
    read = read_huggingface(tmp_path, "x", "y")
    assert (read.inputs.dtype, read.inputs.tolist()) == (np.uint8, [[[0, 255], [7, 8]], [[1, 2], [3, 4]]])


def test_bad_folders_are_named_with_their_fix(tmp_path: Path) -> None:
    def refused(message: str) -> None:
        with pytest.raises(DataError, match=message) as error:
            read_huggingface(tmp_path, "image", "label")
        assert str(tmp_path) in str(error.value)

    refused(r"state\.json is missing, truncated or no json .* save the dataset again")
    save_to_disk(tmp_path, {**PICTURES, "label": [0, 3, 1]}, FEATURES)
    refused("sample 1 has label 3, and labels must lie in 0 .. 2")
    save_to_disk(tmp_path, {**PICTURES, "label": [0, None, 1]}, FEATURES)
    refused("row 1, column 'label': there is no label")
    save_to_disk(tmp_path, {"image": PICTURES["image"], "lable": [0, 1, 1]}, FEATURES)
    refused("has no column 'label'; did you mean 'lable'")
    save_to_disk(tmp_path, {**PICTURES, "image": [png(1), png(2, (5, 5)), png(3)]}, FEATURES)
    refused("row 0 is .*, row 1 ")
    save_to_disk(tmp_path, {**PICTURES, "image": [png(1), {"bytes": b"nothing", "path": None}, png(3)]}, FEATURES)
    refused("row 1, column 'image': no picture in it")
    save_to_disk(tmp_path, {"image": [[1.0], [1.0, 2.0]], "label": [0, 1]}, {})
    refused("not numbers of one shape")
    (tmp_path / "data-00000-of-00001.arrow").write_bytes(b"ARROW")
    refused(r"data-00000-of-00001\.arrow is missing, truncated")
    (tmp_path / "state.json").write_text('{"_indices_data_files": [{"filename": "i.arrow"}]}')
    refused(r"flatten_indices\(\)")
