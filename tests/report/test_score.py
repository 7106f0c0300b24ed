from __future__ import annotations

from pathlib import Path

import pytest

from surefed.records import Record
from surefed.report.figure import plot
from surefed.report.history import fall, notices
from surefed.report.score import Score, measure_of, measured, percent, score
from surefed.report.summary import summary

TRUSTED = {"honest": 1.0, "malicious": None}


def record(measure: str, means: list[float], **about: object) -> Record:
    rounds = [
        {"round": at, "rmse": {"mean": 1.0, "worst": 2.0}, measure: {"mean": mean, "worst": mean - 0.1}}
        | {"trusted": TRUSTED}
        for at, mean in enumerate(means, start=1)
    ]
    plan = {"name": "it", "rounds": 9, "rule": {"name": "krum"}, "attack": {"name": "none"}}
    return Record(Path("nowhere"), plan, {"clients": ["0"], "malicious": [], **about}, rounds, [], None)


def test_a_round_is_scored_by_accuracy_or_else_by_r2() -> None:
    assert score({"accuracy": {"mean": 0.5, "worst": 0.25}, "loss": {}}) == Score("accuracy", 0.5, 0.25)
    assert score({"rmse": {"mean": 3.0, "worst": 4.0}, "r2": {"mean": 0.5, "worst": -1.0}}) == Score("r2", 0.5, -1.0)


def test_a_summary_names_its_measure_and_has_it() -> None:
    numbers = summary(record("r2", [0.1, 0.7]))
    assert (numbers["measure"], numbers["r2"], numbers["worst"]) == ("r2", 0.7, pytest.approx(0.6))
    assert "accuracy" not in numbers
    nothing_yet = summary(record("accuracy", []))
    assert (nothing_yet["measure"], nothing_yet["accuracy"]) == ("accuracy", None)


def test_runs_of_both_kinds_are_named_together() -> None:
    one, other = record("accuracy", [0.5]), record("r2", [0.5])
    assert (measure_of(one), measure_of(other)) == ("accuracy", "r2")
    assert measured([one, one]) == "accuracy"
    assert measured([other, one]) == "accuracy or R2"


def test_an_r2_that_begins_below_zero_has_not_fallen() -> None:
    assert fall(record("r2", [-3.0, -0.5, 0.4])) is None
    dip = fall(record("r2", [-3.0, 0.6, -0.2, 0.595]))
    assert dip is not None
    assert (dip.best, dip.lowest, dip.recovered) == (0.6, -0.2, True)


def test_a_hopeless_share_takes_no_room() -> None:
    assert (percent(-0.25), percent(-1e30)) == ("-25.0 %", "< -999 %")


def test_a_figure_of_numbers_says_r2(tmp_path: Path) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none"}):
        text = plot(record("r2", [-1e30, 0.25]), tmp_path / "figure.svg").read_text()
    assert "Test R2 of honest clients" in text
    assert "krum: 25.0 %" in text


def test_notices_of_a_record_come_first_and_old_records_have_none() -> None:
    assert notices(record("accuracy", [0.5])) == []
    assert notices(record("accuracy", [0.5], notices=["mind the gap"])) == ["mind the gap"]
