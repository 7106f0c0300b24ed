from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest

import surefed
from surefed.core import RecordError
from surefed.report import find, percent, summary
from surefed.sim import Experiment, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs, one without an attack."""
    place = tmp_path_factory.mktemp("runs")
    base = {"rounds": 6, "data": {"clients": 5}, "model": {"name": "linear"}, "evaluate": {"every": 3}}
    for name, rule, attack in (
        ("a", "surefed", "label_flip"),
        ("b", "local_only", "label_flip"),
        ("c", "surefed", "none"),
    ):
        run(Experiment.of({**base, "rule": {"name": rule}, "attack": {"name": attack}}), out=place / name)
    return place


def test_runs_are_found_alone_or_in_a_folder(folder: Path, tmp_path: Path) -> None:
    assert [record.path.name for record in find([folder])] == ["a", "b", "c"]
    assert [record.path.name for record in find([folder / "b", folder / "a"])] == ["b", "a"]
    deeper = tmp_path / "all" / "sweep"
    deeper.parent.mkdir()
    with pytest.raises(RecordError, match="neither the folder of a run"):
        find([tmp_path])
    copytree(folder, deeper)
    assert [record.path for record in find([tmp_path])] == [deeper / name for name in "abc"]
    with pytest.raises(RecordError, match="neither the folder of a run"):
        find([tmp_path / "none"])


def test_a_run_in_one_line(folder: Path) -> None:
    figures = summary(surefed.read(folder / "a"))
    assert (figures["rule"], figures["attack"], figures["malicious"], figures["round"]) == (
        "surefed",
        "label_flip",
        2,
        6,
    )
    assert figures["accuracy"] >= figures["worst"]
    assert summary(surefed.read(folder / "c"))["trusts_malicious"] is None


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_figures_in_three_formats(folder: Path, tmp_path: Path, suffix: str) -> None:
    path = surefed.plot([folder / "a", folder / "b", folder / "c"], tmp_path / f"figure{suffix}")
    start = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(start)


def test_a_figure_says_what_it_shows(folder: Path, tmp_path: Path) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none"}):
        text = surefed.plot([folder / "a", folder / "b"], tmp_path / "figure.svg").read_text()
    last = surefed.read(folder / "a").last["accuracy"]["mean"]
    for words in (
        "2 of 5 clients malicious: label flip",
        f"SureFED: {100 * last:.1f} %",
        "local only",
        "Who trusts whom",
    ):
        assert words in text
    alone = surefed.plot(folder / "c", tmp_path / "alone.svg")
    assert alone.exists()


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="nothing to draw"):
        surefed.plot([], tmp_path / "figure.png")


def test_percent() -> None:
    assert (percent(0.1234), percent(1.0, 0), percent(None)) == ("12.3 %", "100 %", "-")
