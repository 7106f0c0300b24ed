"""A site that plays alone gives the numbers that the simulator gives for the client of its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from surefed.core import Belief, ConfigError
from surefed.peer.lone import Lone
from surefed.peer.wire import decode, encode
from surefed.sim.engine import social
from tests.peer.federations import Trial, trial


def play(made: Trial) -> list[Lone]:
    """Every site's rounds, each hearing whom the charter says, without a network."""
    everybody = {site: Lone(made.charter, site, made.data(site)) for site in made.sites}
    numbers = made.charter.learn.published
    for number in range(made.charter.rounds):
        previous = {site: lone.learn() for site, lone in everybody.items()}
        sent = {
            site: decode(encode(lone.belief, numbers), lone.belief.weights, numbers) for site, lone in everybody.items()
        }
        for site, lone in everybody.items():
            lone.judge(previous[site], {name: sent[name] for name in lone.hears(number)})
    return list(everybody.values())


@pytest.mark.parametrize(
    "terms",
    [
        {"rule": {"name": "surefed", "kappa": 3.0}},
        {"rule": {"name": "surefed", "kappa": "auto"}, "learn": {"early_stop": 2}},
        {"rule": {"name": "bayp2pfl"}, "graph": {"name": "ring"}},
        {"rule": {"name": "trimmed_mean", "trim": 1}, "graph": {"name": "time_varying", "every": 2, "share": 0.5}},
        {"rule": {"name": "gossip"}, "graph": {"name": "star"}},
        {"rule": {"name": "ubar"}},
        {"rule": {"name": "surefed"}, "learn": {"published": "bfloat16"}},
    ],
    ids=lambda terms: str(terms["rule"]["name"]),
)
def test_every_site_ends_where_the_simulator_does(tmp_path: Path, terms: dict[str, Any]) -> None:
    made = trial(tmp_path, sites=5, rounds=12, **terms)
    setup, world = made.simulated()
    predicted = social(setup, world)
    rounding = 1e-6 if terms["rule"]["name"] == "gossip" else 0.0  # which multiplies by a matrix of uneven weights
    for at, lone in enumerate(play(made)):
        assert (lone.belief.mean - predicted.mean[at]).abs().max() <= rounding
        assert (lone.belief.rho - predicted.rho[at]).abs().max() <= rounding


def test_whoever_is_missing_is_not_heard(tmp_path: Path) -> None:
    made = trial(tmp_path, rule={"name": "bayp2pfl"})
    one, two = (Lone(made.charter, "anna", made.data("anna")) for _ in range(2))
    other = Lone(made.charter, "bert", made.data("bert"))
    other.learn()
    before = one.learn(), two.learn()
    alone = one.judge(before[0], {})
    both = two.judge(before[1], {"bert": other.belief})
    assert alone.trusted.tolist() == [[True, False, False]]
    assert both.trusted.tolist() == [[True, True, False]]
    assert not torch.equal(one.belief.mean, two.belief.mean)


def test_a_rule_that_must_know_the_honest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="honest"):
        trial(tmp_path, rule={"name": "oracle"})


def test_a_rule_that_is_told_how_many_lie_is_told_the_charters_number(tmp_path: Path) -> None:
    made = trial(tmp_path, sites=5, rule={"name": "trimmed_mean"}, malicious=1)
    lone = Lone(made.charter, "anna", made.data("anna"))
    weights = made.charter.weights
    sent = {site: Belief(torch.full((weights,), float(at)), torch.zeros(weights)) for at, site in enumerate(made.sites)}
    previous = lone.learn()
    lone.belief.mean.fill_(2.5)  # of 2.5, 1, 2, 3 and 4 the least and the greatest are dropped: 7.5 / 3
    lone.judge(previous, {site: belief for site, belief in sent.items() if site != "anna"})
    assert torch.allclose(lone.belief.mean, torch.tensor(2.5))
