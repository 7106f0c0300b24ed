"""What every step before a rule must keep to, with every rule behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from surefed.core import Belief, ConfigError
from surefed.core.registry import claim
from surefed.rules import RULES, Inspection, Outcome, Receivers, Rule
from surefed.rules.base import some
from surefed.rules.before import BEFORE, preceded
from surefed.sim import Experiment
from surefed.sim.assemble import assemble

from ..test_contract import CLIENTS, step, world

PAIRS = [(rule, before) for rule in RULES for before in BEFORE]


@pytest.mark.parametrize(("name", "before"), PAIRS)
def test_a_receiver_judges_alone_as_it_does_among_others(name: str, before: str) -> None:
    for seed in range(5):
        at, sent, edges = world(seed)
        edges[3], edges[5] = edges[2], False  # two that hear the same, one that hears nobody
        rule = preceded(RULES[name](), BEFORE[before]())
        together = step(rule, at, sent, edges)
        assert together.social.finite().all()
        assert not (together.inspection.trusted & ~edges).any()
        for row in range(CLIENTS):
            only = torch.tensor([row])
            alone = step(rule, some(at, only), sent, edges[only])
            assert torch.allclose(alone.social.mean[0], together.social.mean[row], atol=1e-6)
            assert torch.equal(alone.inspection.trusted[0], together.inspection.trusted[row])


@pytest.mark.parametrize("before", BEFORE)
def test_who_is_not_a_number_is_not_mixed_in(before: str) -> None:
    at, sent, edges = world(1, density=1.0)
    silent = edges.clone()
    silent[:, 2] = False
    rule = preceded(RULES["fedavg"](), BEFORE[before]())
    quiet = step(rule, at, sent, silent).social.mean
    sent.mean[2, 0] = torch.nan
    assert torch.allclose(step(rule, at, sent, edges).social.mean, quiet, atol=1e-6)


@pytest.mark.parametrize("before", BEFORE)
def test_it_says_what_it_does(before: str) -> None:
    assert claim(BEFORE[before]).endswith((".", ")"))


class Heard(NamedTuple):
    """How many messages each receiver was shown so far."""

    count: Tensor


def test_what_a_rule_remembers_stays_with_its_receiver() -> None:
    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Heard) -> Outcome[Heard]:
        return Outcome(at.social, Heard(state.count + edges.sum(1)), Inspection(edges))

    rule = preceded(Rule(lambda receivers, *_: Heard(torch.arange(receivers)), judge), BEFORE["bucketing"](size=2))
    at, sent, edges = world(4, density=0.5)
    found = rule.step(at, sent, edges, rule.init(CLIENTS, CLIENTS, sent.weights)).state.count
    assert found.tolist() == [row - (-int(edges[row].sum()) // 2) for row in range(CLIENTS)]


def test_the_details_of_an_inspection_go_back_to_the_senders() -> None:
    at, sent, edges = world(2, density=0.6)
    plain = step(RULES["surefed"](kappa=4.0), at, sent, edges).inspection
    mixed = step(preceded(RULES["surefed"](kappa=4.0), BEFORE["nnm"](malicious=99)), at, sent, edges).inspection
    assert plain.outside is not None
    assert mixed.outside is not None
    assert torch.equal(mixed.trusted, plain.trusted)
    assert torch.equal(mixed.outside[edges], plain.outside[edges])


def test_experiments_name_it() -> None:
    plan = {"rounds": 1, "data": {"clients": 5}, "model": {"name": "linear"}}
    made = assemble(Experiment.of({**plan, "rule": {"name": "krum", "before": "bucketing"}})).experiment
    assert made.rule.before_options == {"size": 2, "seed": 0}
    assert assemble(made).experiment == made
    with pytest.raises(ConfigError, match="did you mean 'bucketing'"):
        assemble(Experiment.of({**plan, "rule": {"name": "krum", "before": "buckets"}}))
    with pytest.raises(ConfigError, match=r"has no option 'sise'; did you mean 'size'"):
        assemble(
            Experiment.of({**plan, "rule": {"name": "krum", "before": "bucketing", "before_options": {"sise": 3}}})
        )
    with pytest.raises(ConfigError, match="which is not set"):
        assemble(Experiment.of({**plan, "rule": {"name": "krum", "before_options": {"size": 3}}}))


@pytest.mark.parametrize(
    ("name", "told", "used"),
    [("trimmed_mean", 5, 3), ("bridge", 5, 3), ("krum", 6, 4), ("multi_krum", 6, 4), ("clipped_gossip", 7, 6)],
)
def test_a_rule_told_of_more_than_it_is_defined_for_says_what_it_used(name: str, told: int, used: int) -> None:
    """Seven are heard: at most 3 can be dropped at either end, Krum needs one closest other (f <= n - 3)."""
    at, sent, edges = world(0, density=1.0)
    at = replace(at, malicious=torch.full((CLIENTS,), told))
    inspection = step(RULES[name](), at, sent, edges).inspection
    assert inspection.told is not None
    assert inspection.used is not None
    assert inspection.told.tolist() == [told] * CLIENTS
    assert inspection.used.tolist() == [used] * CLIENTS
    assert RULES[name]().bound
