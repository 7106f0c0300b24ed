from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surefed.core import ConfigError
from surefed.report.labels import plot_labels

COUNTS = np.array([[3, 0, 1], [0, 5, 2]])


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.PDF", b"%PDF")])
def test_the_suffix_chooses_the_format(tmp_path: Path, name: str, start: bytes) -> None:
    made = plot_labels(tmp_path / name, COUNTS, ["ann", "bob"], tests=[1, 2], title="two clients")
    assert made.read_bytes().startswith(start)


def test_names_and_title_stand_in_the_picture(tmp_path: Path) -> None:
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none"}):
        text = plot_labels(tmp_path / "a.svg", COUNTS, ["ann", "bob <b>"], tests=[1, 2], title="mine").read_text()
    for words in ("ann", "bob &lt;b&gt;", "mine", "test", "train", "class", "client"):
        assert f">{words}</text>" in text, words


def test_one_client_and_very_many_can_be_drawn(tmp_path: Path) -> None:
    for people, classes in ((1, 1), (90, 70)):
        counts = np.ones((people, classes), dtype=np.int64)
        made = plot_labels(tmp_path / f"{people}.png", counts, [str(at) for at in range(people)])
        assert made.stat().st_size > 5_000


def test_other_suffixes_are_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="figures are"):
        plot_labels(tmp_path / "a.gif", COUNTS, ["ann", "bob"])
