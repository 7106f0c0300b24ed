from __future__ import annotations

from pathlib import Path

import pytest

from surefed.records import Record
from surefed.report.history import Fall, apart_since, fall, notices, story
from surefed.report.summary import summary
from surefed.sim import Experiment, run


def record(accuracies: list[float], malicious: list[float | None] | None = None) -> Record:
    trusted = malicious or [0.0] * len(accuracies)
    rounds = [
        {"round": 10 * at, "accuracy": {"mean": accuracy, "worst": accuracy}, "trusted": {"malicious": share}}
        for at, (accuracy, share) in enumerate(zip(accuracies, trusted, strict=True), start=1)
    ]
    return Record(
        path=Path("nowhere"), experiment={"rule": {"name": "krum"}}, run={}, rounds=rounds, timing=[], result=None
    )


def test_the_camps_are_apart_from_the_round_after_which_nobody_is_fooled() -> None:
    assert apart_since(record([0.5] * 4, [0.0, 0.3, 0.0, 0.0])) == 30
    assert apart_since(record([0.5] * 3, [0.0, 0.0, 0.1])) is None
    assert apart_since(record([0.5] * 2, [None, None])) is None
    assert apart_since(record([])) is None


@pytest.mark.parametrize(
    ("accuracies", "expected"),
    [
        ([0.1, 0.5, 0.9], None),
        ([0.8, 0.76, 0.9], None),  # 4 points are not a fall
        ([0.8, 0.6, 0.7, 0.795], Fall(0.8, 0.6, 20, recovered=True)),
        ([0.8, 0.6, 0.7, 0.78], Fall(0.8, 0.6, 20, recovered=False)),
        ([0.5, 0.4, 0.8, 0.6, 0.9], Fall(0.8, 0.6, 40, recovered=True)),  # the deeper of two
    ],
)
def test_a_fall_is_from_the_best_so_far(accuracies: list[float], expected: Fall | None) -> None:
    found = fall(record(accuracies))
    assert found == expected


def test_the_story_in_words() -> None:
    assert story(record([0.8, 0.6, 0.7, 0.85], [1.0, 0.5, 0.0, 0.0])) == (
        "fell from 80.0 to 60.0 % at round 20 and recovered, trusts no malicious neighbour since round 30"
    )
    assert story(record([0.8, 0.6], [1.0, 1.0])) == "fell from 80.0 to 60.0 % at round 20 and did not recover"
    assert story(record([0.5, 0.6], [1.0, 1.0])) == ""


def test_a_bound_that_was_cut_is_in_the_record_and_in_words(tmp_path: Path) -> None:
    plan = {
        "rounds": 2,
        "data": {"clients": 10},
        "model": {"name": "linear"},
        "rule": {"name": "trimmed_mean"},
        "attack": {"name": "label_flip", "malicious": 0.7},
    }
    made = run(Experiment.of(plan), out=tmp_path / "run").record
    assert made.last["bound"] == {"told": 7, "used": 4, "cut": 3}
    (said,) = notices(made)
    assert "trimmed_mean is defined for fewer than half of those heard; told of 7, it reckoned with 4" in said
    assert summary(made)["notices"] == [said]
    plan["attack"] = {"name": "label_flip", "malicious": 0.3}
    assert notices(run(Experiment.of(plan), out=tmp_path / "fine").record) == []


def test_detection_by_hand(tmp_path: Path) -> None:
    """Three honest clients with two honest and two malicious neighbours each."""
    plan = {
        "rounds": 1,
        "data": {"clients": 5},
        "model": {"name": "linear"},
        "rule": {"name": "local_only"},
        "attack": {"name": "label_flip", "malicious": 0.4},
    }
    alone = run(Experiment.of(plan), out=tmp_path / "alone").record
    assert alone.last["detection"] == {"precision": 0.5, "recall": 1.0}
    plan["rule"] = {"name": "fedavg"}
    assert run(Experiment.of(plan), out=tmp_path / "all").record.last["detection"] == {"precision": None, "recall": 0.0}
    plan["rule"] = {"name": "oracle"}
    told = run(Experiment.of(plan), out=tmp_path / "told").record
    assert told.last["detection"] == {"precision": 1.0, "recall": 1.0}
    assert summary(told)["apart_since"] == 1
