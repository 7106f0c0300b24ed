"""With malicious members the honest peers end as the simulator predicts, whatever the attack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from surefed.attacks import ATTACKS
from surefed.core import Belief, ConfigError
from surefed.peer.liar import conspiracy
from surefed.peer.lone import experiment
from surefed.peer.transport import Network
from surefed.peer.wire import manifest_for, write_manifest
from surefed.records import read
from surefed.sim.engine import social
from surefed.sim.experiment import Experiment
from tests.peer.federations import Trial, peer, run_all, trial

LIARS = ("dora", "egon", "gina")


def plan_of(made: Trial, attack: dict[str, Any]) -> Experiment:
    return Experiment.of(experiment(made.charter).model_dump(exclude_unset=True) | {"attack": attack})


@pytest.mark.parametrize("attack", ["label_flip", "sign_flip", "alie", "opt_alie", "mimic"])
def test_three_of_eight_lie_and_the_honest_end_as_predicted(tmp_path: Path, attack: str) -> None:
    made = trial(tmp_path, sites=8, rounds=5, rule={"name": "surefed", "kappa": 2.0})
    said = {"name": attack, "clients": list(LIARS)}
    plan, network, everybody = plan_of(made, said), Network(), {}
    for site in made.sites:
        if site in LIARS:
            poisoned, send = conspiracy(plan, made.whole, site)
            everybody[site] = peer(made, network, site, data=poisoned, send=send)
        else:
            everybody[site] = peer(made, network, site)
    run_all(everybody)
    setup, world = made.simulated(**said)
    predicted = social(setup, world)
    for at, (site, one) in enumerate(everybody.items()):
        if site not in LIARS:
            assert (one.belief.mean - predicted.mean[at]).abs().max() == 0, site
            trusts = {
                name for name, verdict in read(one.folder).last["neighbours"].items() if verdict["verdict"] == "trusted"
            }
            row = world.trusted[at].tolist()
            assert trusts == {name for name, yes in zip(made.sites, row, strict=True) if yes and name != site}


@pytest.mark.parametrize("name", sorted(ATTACKS.keys() - {"none"}))
def test_any_attack_of_the_library_can_be_told(tmp_path: Path, name: str) -> None:
    made = trial(tmp_path, sites=4, rounds=3, rule={"name": "surefed", "kappa": 8.0})
    poisoned, send = conspiracy(plan_of(made, {"name": name, "clients": ["dora"]}), made.whole, "dora")
    assert poisoned.ids == ("dora",)
    belief = Belief(torch.zeros(made.charter.weights), torch.zeros(made.charter.weights))
    for number in (1, 3):  # a round may be left out
        assert send(number, belief).mean.shape == (made.charter.weights,)


def test_an_honest_site_is_no_conspirator(tmp_path: Path) -> None:
    made = trial(tmp_path)
    with pytest.raises(ConfigError, match=r"attack\.clients"):
        conspiracy(plan_of(made, {"name": "alie", "clients": ["bert"]}), made.whole, "anna")


def test_one_who_signs_two_beliefs_for_a_round_is_heard_by_nobody_again(tmp_path: Path) -> None:
    made, network = trial(tmp_path, rounds=8, deadline=0.5, rule={"name": "bayp2pfl"}), Network()
    everybody = {site: peer(made, network, site) for site in made.sites}
    cleo = everybody["cleo"]
    once, post = cleo.exchange.publish, cleo.exchange._transport.post

    def twice(number: int, payload: bytes) -> None:
        once(number, payload)
        if number == 3:
            other = manifest_for(made.charter, cleo.identity, number, payload[::-1])
            post(write_manifest(other, cleo.identity))

    cleo.exchange.publish = twice  # type: ignore[method-assign]
    run_all(everybody)
    for site in ("anna", "bert"):
        seen = [line["neighbours"]["cleo"]["verdict"] for line in read(made.folder / site / "record").rounds]
        assert seen[0] == "trusted"
        assert seen[-1] == "equivocated"
        assert list((made.folder / site / "record").rglob("evidence/*"))
