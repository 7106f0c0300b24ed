"""Graphs as an experiment names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from surefed.core import ConfigError
from surefed.graphs import named
from surefed.sim.assemble import assemble
from surefed.sim.experiment import Experiment
from surefed.sim.toml import write


def experiment(**graph: Any) -> Experiment:
    return Experiment.of({"seed": 3, "data": {"clients": 8}, "rule": {"name": "bayp2pfl"}, "graph": graph})


def test_the_experiments_seed_and_clients_reach_the_graph() -> None:
    setup = assemble(experiment(name="time_varying", every=5, of="small_world", of_options={"k": 6}))
    options = {"every": 5, "of": "small_world", "of_options": {"k": 6}}
    same = named("time_varying", options, clients=8, seed=3, ids=setup.clean.ids)
    assert setup.graph.fingerprint() == same.fingerprint()
    assert torch.equal(setup.graph.edges(7), same.edges(7))


def test_every_default_is_written_out_inside_as_well(tmp_path: Path) -> None:
    turns = [{"of": "ring", "rounds": 4}, {"of": "drop_edges", "of_options": {"of": "regular"}}]
    setup = assemble(experiment(name="churn", of="periodic", of_options={"graphs": turns}))
    recorded = setup.experiment.graph.options
    assert (recorded["leave"], recorded["come_back"]) == (0.02, 0.2)
    assert recorded["of_options"]["graphs"] == [
        {"of": "ring", "rounds": 4, "of_options": {}},
        {
            "of": "drop_edges",
            "rounds": 1,
            "of_options": {"share": 0.2, "of": "regular", "of_options": {"k": 4}},
        },
    ]
    (tmp_path / "experiment.toml").write_text(write(setup.experiment))
    again = assemble(Experiment.read(tmp_path / "experiment.toml"))
    assert again.identity == setup.identity


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({"name": "regular", "k": 8}, "from 0 to 7, not 8"),
        ({"name": "drop_edges", "of": "rnig"}, "did you mean 'ring'"),
        ({"name": "drop_edges", "of": "ring", "of_options": {"k": 2}}, "the graph 'ring' has no option 'k'"),
        ({"name": "drop_edges", "of": 3}, "option 'of'"),
        ({"name": "drop_edges", "of_options": 3}, "option 'of_options'"),
        ({"name": "drop_edges", "share": 20}, "share, how many of the edges are dropped, is a number from 0 to 1"),
        ({"name": "periodic"}, "graphs lists what takes turns"),
        ({"name": "periodic", "graphs": "ring"}, "option 'graphs'"),
        ({"name": "file"}, "path names the file"),
        ({"name": "churn", "away": {"9": [[0, 3]]}}, "'9', which is no client"),
        ({"name": "churn", "away": {"1": [3]}}, "option 'away'"),
    ],
)
def test_bad_options_are_errors_of_the_experiment(graph: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        assemble(experiment(**graph))
