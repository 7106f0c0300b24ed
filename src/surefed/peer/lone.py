"""One site of a federation, played with the simulator's own code: the same draws, the same rule, the same numbers.

A site is a simulated federation of one client. Randomness follows the client's name, so the site draws what the client
of that name draws in the simulator; it judges with the very same rule, itself as the only receiver and the sites of the
charter, in their order, as the senders.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from surefed.core import Belief, ConfigError, DataError, Record, pushes
from surefed.data import Federation
from surefed.graphs import Fixed, Graph, named
from surefed.peer.charter import Charter
from surefed.rules import Inspection
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, judges, learn, move_on, predictions, social
from surefed.sim.experiment import Experiment

ALONE = Fixed(torch.ones(1, 1, dtype=torch.bool))


def experiment(charter: Charter) -> Experiment:
    """What the simulator would run for the same charter, its data aside."""
    return Experiment(
        name=charter.name,
        seed=charter.seed,
        rounds=charter.rounds,
        model=charter.model,
        graph=charter.graph,
        learn=charter.learn,
        rule=charter.rule,
    )


class Lone:
    """A site that learns by itself and judges what the others sent."""

    def __init__(self, charter: Charter, site: str, data: Federation) -> None:
        plan = experiment(charter)
        if (data.shape, data.classes) != (charter.shape, charter.classes):
            raise DataError(
                f"the data of {site} has inputs {data.shape} and {data.classes} classes; the charter says "
                f"{charter.shape} and {charter.classes}"
            )
        self.setup = assemble(plan, data=data, graph=ALONE)
        self.site = site
        if "honest" in self.setup.rule.needs:
            raise ConfigError(f"the rule {plan.rule.name!r} must be told who is honest, which nobody can know here")
        self._join(charter)
        self.world = begin(self.setup, len(self.sites))
        if isinstance(self.world.state, Record):
            self.world.state = pushes.keyed(self.world.state, secrets.randbits(63))

    def amend(self, charter: Charter) -> None:
        """Take over who the members are, and who hears whom; what is remembered of those that stay is kept."""
        before = self.sites
        self._join(charter)
        if isinstance(self.world.state, Record):
            self.world.state = pushes.carried(self.world.state, before, self.sites)

    def _join(self, charter: Charter) -> None:
        self.sites, self.told = charter.sites, charter.malicious
        self.at = self.sites.index(self.site)
        section = charter.graph
        self.graph: Graph = named(
            section.name, section.options, clients=len(self.sites), seed=charter.seed, ids=self.sites
        )

    @property
    def round(self) -> int:
        """Which round comes next, counted from 0."""
        return self.world.round

    @property
    def belief(self) -> Belief:
        """The social belief; a view that changes with the rounds. [weight]"""
        return social(self.setup, self.world)[0]

    def hears(self, round: int) -> tuple[str, ...]:
        """The others that this site hears in a round, in the order of the charter."""
        row = self.graph.edges(round)[self.at].tolist()
        return tuple(name for name, edge in zip(self.sites, row, strict=True) if edge and name != self.site)

    def heard_by(self, round: int) -> tuple[str, ...]:
        """The others that hear this site in a round."""
        column = self.graph.edges(round)[:, self.at].tolist()
        return tuple(name for name, edge in zip(self.sites, column, strict=True) if edge and name != self.site)

    def learn(self) -> Belief:
        """Learn from the site's own samples; what the belief was before. [1, weight]"""
        before = social(self.setup, self.world)
        previous = before.clone() if "previous" in self.setup.rule.needs else before
        learn(self.setup, self.world)
        return previous

    def judge(self, previous: Belief, heard: Mapping[str, Belief]) -> Inspection:
        """Judge what was heard, by site, with the rule of the charter, and move on to the next round."""
        own, needs = social(self.setup, self.world), self.setup.rule.needs
        if self.setup.experiment.learn.published == "bfloat16":
            own = own.rounded()  # one hears oneself as the others do
        mean, rho = torch.zeros(len(self.sites), own.weights), torch.zeros(len(self.sites), own.weights)
        edges = torch.zeros(1, len(self.sites), dtype=torch.bool)
        for row, name in enumerate(self.sites):
            sent = own[0] if name == self.site else heard.get(name)
            if sent is not None:
                mean[row], rho[row], edges[0, row] = sent.mean, sent.rho, True
        told: dict[str, Any] = {}
        if "malicious" in needs:
            told["malicious"] = torch.tensor([self.told])
        if "degrees" in needs:
            told["degrees"] = self.graph.edges(self.round).sum(1) - 1
        at = replace(judges(self.setup, self.world, previous, detail=True), **told)
        outcome = self.setup.rule.step(at, Belief(mean, rho), edges, self.world.state)
        move_on(self.setup, self.world, outcome, outcome.inspection)
        return outcome.inspection

    def predictions(self, group: Any, inputs: Tensor) -> Tensor:
        """What the site's belief of one group predicts. [1, sample, ...]"""
        return predictions(self.setup, self.world, group, inputs)
