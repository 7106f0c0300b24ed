from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefed.core import ConfigError, DataError
from surefed.core.registry import build
from surefed.data import DATASETS, Dataset
from surefed.data.formats import read_table

CSV = """age,site,label,dose
40,Ulm,0,1.5
50,Aalen,1,-2

60,Ulm,1,3e2
"""


def parquet(path: Path, columns: dict[str, list[Any]]) -> Path:
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow, of the extra `data`")
    writer = pytest.importorskip("pyarrow.parquet")
    writer.write_table(pyarrow.table(columns), path)
    return path


def test_columns_are_features_labels_and_owners(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    columns = {"age": [40, 50, 60], "site": ["Ulm", "Aalen", "Ulm"], "label": [0, 1, 1], "dose": [1.5, -2.0, 300.0]}
    for path in (tmp_path / "t.csv", parquet(tmp_path / "t.parquet", columns)):
        read = read_table(path, "label", "site")
        assert read.inputs.tolist() == [[40.0, 1.5], [50.0, -2.0], [60.0, 300.0]]
        assert read.inputs.dtype == np.float32
        assert (read.labels.tolist(), read.classes) == ([0, 1, 1], 2)
        assert read.owners == ("Aalen", "Ulm")
        assert read.owner is not None
        assert read.owner.tolist() == [1, 0, 1]


def test_labels_may_be_names(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\ufeffx,kind\n1,pear\n2,apple\n3,pear\n", encoding="utf-8")  # with Excel's mark
    read = DATASETS["table"](path=str(tmp_path / "t.csv"), label="kind")
    assert (read.labels.tolist(), read.classes, read.owner) == ([1, 0, 1], 2, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CSV.replace("3e2", "?"), r"row 5, column 'dose': '\?' is not a number; put it right"),
        (CSV.replace("-2", ""), "row 3, column 'dose': '' is not a number"),
        (CSV.replace("-2", "nan"), "row 3, column 'dose': 'nan' is not a number"),
        (CSV.replace("-2", "inf"), "row 3, column 'dose': 'inf' is not a number"),
        (CSV.replace("-2", "1e400"), "row 3, column 'dose': '1e400' is not a number"),
        (CSV.replace("50,", ""), "row 3: 3 cells for 4 columns; is it truncated"),
        (CSV.replace("Ulm,0", "Ulm,"), "row 2, column 'label': there is no label"),
        (CSV.replace("Ulm,0", "Ulm,0.5"), "row 2, column 'label': '0.5' is no whole number"),
        (CSV.replace("Ulm,0", "Ulm,none"), "row 2, column 'label': 'none' is no whole number"),
        (CSV.replace("Ulm,0", "Ulm,-1"), "column 'label': sample 0 has label -1"),
        (CSV.replace("Ulm,1", "Ulm,3"), "labels reach 3, but no sample has label 2"),
        (CSV.replace("label", "lable"), "has no column 'label'; did you mean 'lable'"),
        (CSV.replace("dose", "age"), "two columns have the same name"),
        ("label,site\n0,Ulm\n", "no columns besides 'label'"),
        ("age,site,label,dose\n", "has no rows"),
        ("", "has no rows"),
    ],
)
def test_a_bad_cell_is_named_by_row_and_column(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, match=message) as error:
        read_table(tmp_path / "t.csv", "label", "site")
    assert "t.csv" in str(error.value)


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"age,label\n\xff\xfe,1\n")
    with pytest.raises(DataError, match=r"t\.csv is missing, truncated or no CSV file in UTF-8"):
        read_table(tmp_path / "t.csv", "label")
    with pytest.raises(DataError, match=r"nowhere\.csv is missing"):
        read_table(tmp_path / "nowhere.csv", "label")
    with pytest.raises(ConfigError, match=r"set data\.path to the \.csv or \.parquet file"):
        build(DATASETS["table"], "dataset", "table", {}, gives=Dataset)


def test_bad_parquet(tmp_path: Path) -> None:
    path = parquet(tmp_path / "t.parquet", {"age": [1.0, None], "label": [0, 1]})
    with pytest.raises(DataError, match=r"t\.parquet, row 2, column 'age': None is not a number"):
        read_table(path, "label")
    parquet(path, {"age": [1.0, 2.0], "label": [0, None]})
    with pytest.raises(DataError, match=r"t\.parquet, row 2, column 'label': there is no label"):
        read_table(path, "label")
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match=r"t\.parquet is missing, truncated"):
        read_table(path, "label")


def test_without_pyarrow_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"reading t\.parquet needs pyarrow.* pip install pyarrow"):
        read_table(tmp_path / "t.parquet", "label")
