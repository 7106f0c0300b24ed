"""Peers that talk to each other end where the simulator ends, and say what became of everybody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from surefed.peer.transport import Network
from surefed.records import read
from surefed.sim.engine import social
from tests.peer.federations import peers, run_all, trial


@pytest.mark.parametrize(
    "rule",
    [{"name": "surefed"}, {"name": "bayp2pfl"}, {"name": "trimmed_mean", "trim": 1}],
    ids=lambda one: one["name"],
)
def test_eight_peers_end_with_the_simulators_beliefs(tmp_path: Path, rule: dict[str, Any]) -> None:
    made = trial(tmp_path, sites=8, rounds=6, rule=rule)
    everybody = peers(made, Network())
    run_all(everybody)
    setup, world = made.simulated()
    predicted = social(setup, world)
    for at, one in enumerate(everybody.values()):
        assert (one.belief.mean - predicted.mean[at]).abs().max() == 0
        assert (one.belief.rho - predicted.rho[at]).abs().max() == 0


def test_the_record_says_what_became_of_everybody(tmp_path: Path) -> None:
    made = trial(tmp_path, rounds=2, rule={"name": "surefed", "kappa": 1e-3})
    run_all(peers(made, Network()))
    folder = tmp_path / "anna" / "record"
    record = read(folder)
    assert record.finished
    assert [line["round"] for line in record.rounds] == [1, 2]
    assert record.run["clients"] == ["anna", "bert", "cleo"]
    bert = record.last["neighbours"]["bert"]
    assert bert["verdict"] == "distrusted"  # a band of a thousandth of a std holds nobody
    assert bert["round"] == 2
    assert bert["outside"] > 0
    assert bert["layer"] in record.run["layers"]
    assert f"{bert['outside']} weights lie outside the band" in bert["why"]
    assert bert["layer"] in bert["why"]
    status = json.loads((folder / "peer.json").read_text())
    assert status["doing"] == "finished"
    assert status["round"] == 2
    assert status["distrusted"] == ["bert", "cleo"]
    assert status["neighbours"]["bert"]["heard"] == 2
    assert status["neighbours"]["bert"]["distrusted"] == 2
    assert 300 < status["certificate_days"] <= 366
