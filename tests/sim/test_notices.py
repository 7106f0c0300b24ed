"""A run says at its start, once, what its reader should know, and keeps it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import surefed
from surefed.core import Interrupted
from surefed.report import notices
from surefed.sim import Experiment, run

LINE = {"name": "line"}


def experiment(graph: dict[str, Any], *liars: str, rounds: int = 2) -> Experiment:
    attack = {"name": "gaussian", "clients": list(liars)} if liars else {"name": "none"}
    plan = {"rounds": rounds, "data": {"clients": 5}, "model": {"name": "linear"}, "rule": {"name": "bayp2pfl"}}
    return Experiment.of({**plan, "graph": graph, "attack": attack})


def told(graph: dict[str, Any], *liars: str, rounds: int = 2, **given: Any) -> list[str]:
    return surefed.read(run(experiment(graph, *liars, rounds=rounds), **given).folder).run["notices"]


def test_a_liar_in_the_middle_of_a_line_parts_the_honest(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    # 0 - 1 - 2 - 3 - 4: without 2, nothing that 0 and 1 learn reaches 3 and 4
    (notice,) = told(LINE, "2", out=tmp_path / "run")
    assert "4 honest clients fall into 2 parts, the largest of 2" in notice
    assert [entry.getMessage() for entry in caplog.records] == [notice]
    assert notices(surefed.read(tmp_path / "run")) == [notice]


@pytest.mark.parametrize(
    ("graph", "liars"),
    [
        (LINE, ()),
        (LINE, ("4",)),  # at the end of the line nobody needs it
        ({"name": "complete"}, ("1", "2")),
        ({"name": "periodic", "graphs": [{"of": "line"}, {"of": "star", "of_options": {"centre": 1}}]}, ("2",)),
    ],
)
def test_nothing_is_said_where_the_honest_reach_each_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, graph: dict[str, Any], liars: tuple[str, ...]
) -> None:
    assert told(graph, *liars, out=tmp_path / "run") == []
    assert caplog.records == []


def test_a_change_that_comes_after_the_last_round_does_not_help(tmp_path: Path) -> None:
    turns = {"name": "periodic", "graphs": [{"of": "line", "rounds": 3}, {"of": "complete"}]}
    assert len(told(turns, "2", rounds=3, out=tmp_path / "short")) == 1
    assert told(turns, "2", rounds=4, out=tmp_path / "long") == []


def test_a_graph_given_in_python_is_looked_at_as_well(tmp_path: Path) -> None:
    pairs = nx.Graph([(0, 1), (2, 3), (3, 4)])
    made = run(experiment({"name": "complete"}), out=tmp_path / "run", graph=pairs)
    assert len(made.record.run["notices"]) == 1


def test_going_on_says_nothing_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def stop(done: int, figures: object) -> None:
        if done == 2:
            raise Interrupted("enough", exit_code=130)

    plan = experiment(LINE, "2", rounds=4)
    with pytest.raises(Interrupted):
        run(plan, out=tmp_path / "run", watch=stop)
    assert len(caplog.records) == 1
    finished = run(plan, out=tmp_path / "run", resume=True)
    assert len(caplog.records) == 1
    assert len(finished.record.run["notices"]) == 1


def test_a_record_from_before_there_were_notices_is_read(tmp_path: Path) -> None:
    run(experiment(LINE), out=tmp_path / "run")
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    del about["notices"]
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    assert notices(surefed.read(tmp_path / "run")) == []
