from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from surefed.core import ConfigError, DataError
from surefed.data import Dataset
from surefed.report.samples import sample_sheet


def sheet_of(dataset: Dataset, path: Path, **options: object) -> np.ndarray:
    return matplotlib.image.imread(sample_sheet(dataset, path, **options))[:, :, :3]


def test_pictures_stand_the_right_way_up_below_their_labels(tmp_path: Path) -> None:
    # class 0 is green at the top and red at the bottom; class 1 blue on the left and yellow on the right
    pictures = np.zeros((2, 3, 8, 8), dtype=np.uint8)
    pictures[0, 1, :4], pictures[0, 0, 4:], pictures[1, 2, :, :4], pictures[1, :2, :, 4:] = 255, 255, 255, 255
    seen = sheet_of(Dataset(pictures, np.array([0, 1]), 2), tmp_path / "sheet.png", rows=1)

    def middle(*colour: int) -> tuple[float, float]:
        rows, columns = np.nonzero((seen == np.float32(colour)).all(axis=2))
        return float(rows.mean()), float(columns.mean())

    green, red, blue, yellow = middle(0, 1, 0), middle(1, 0, 0), middle(0, 0, 1), middle(1, 1, 0)
    assert green[0] < red[0]
    assert green[1] == pytest.approx(red[1], abs=1)
    assert red[1] < blue[1]
    assert blue[1] < yellow[1]
    assert blue[0] == pytest.approx(yellow[0], abs=1)


def test_labels_and_names_are_written(tmp_path: Path) -> None:
    import matplotlib as mpl

    dataset = Dataset(np.zeros((40, 1, 4, 4), dtype=np.float32), np.arange(40) % 20, 20)
    with mpl.rc_context({"svg.fonttype": "none"}):
        numbered = sample_sheet(dataset, tmp_path / "a.svg").read_text()
        named = sample_sheet(dataset, tmp_path / "b.svg", names=tuple(f"kind{at}" for at in range(20))).read_text()
    assert all(f">{label}</text>" in numbered and f">kind{label}</text>" in named for label in range(20))
    assert numbered.count("<image") == 40


def test_what_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.png, \.svg or \.pdf"):
        sample_sheet(Dataset(np.zeros((1, 1, 4, 4)), np.array([0]), 1), tmp_path / "a.doc")
    with pytest.raises(DataError, match=r"samples of shape \(7,\) are no pictures"):
        sample_sheet(Dataset(np.zeros((1, 7)), np.array([0]), 1), tmp_path / "a.png")
    with pytest.raises(ConfigError, match="1 classes need as many names, not 2"):
        sample_sheet(Dataset(np.zeros((1, 1, 4, 4)), np.array([0]), 1), tmp_path / "a.png", names=("a", "b"))
