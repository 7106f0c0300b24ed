"""Everything a round needs that does not change from round to round."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from surefed.attacks import Attack
from surefed.core import Stream
from surefed.data import Federation
from surefed.graphs import Graph
from surefed.learn import Learner, Network
from surefed.rules import Rule
from surefed.sim.experiment import Experiment

Group = Literal["social", "local", "half_a", "half_b"]
"""The beliefs of a client: the social one, the local one, and two that each learn from a half of its own data."""


@dataclass(frozen=True)
class Setup:
    """Everything a round needs that does not change from round to round.

    clean is what the clients own; poisoned is what they train on while the attack lasts.
    sizes: int64 [client], how many samples each trains on; what is left of its samples is held out.
    groups: the beliefs that are trained, in the order of the rows; the social ones come first.
    """

    experiment: Experiment
    clean: Federation
    poisoned: tuple[Tensor, Tensor]
    sizes: Tensor
    groups: tuple[Group, ...]
    network: Network
    learner: Learner
    rule: Rule[Any]
    attack: Attack
    graph: Graph
    malicious: Tensor
    streams: dict[str, Stream]
    device: torch.device
    identity: str
    _sent: dict[str, tuple[Tensor, int, Tensor]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @functools.cached_property
    def longest(self) -> int:
        """The most samples that a client trains on."""
        return int(self.sizes.max())

    @functools.cached_property
    def most_held_out(self) -> int:
        """The most samples that a client holds out of training."""
        return int((self.clean.sizes - self.sizes).max())

    @functools.cached_property
    def camps(self) -> tuple[Tensor, Tensor]:
        """The malicious and the honest clients, in order. int64 [malicious], [honest]"""
        return self.malicious.nonzero().flatten(), (~self.malicious).nonzero().flatten()

    @functools.cached_property
    def start(self) -> Tensor:
        """The mean that everybody begins with. [weight]"""
        mean = self.network.initial().to(self.device)
        return torch.zeros_like(mean) if self.experiment.learn.init == "zeros" else mean

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return self.clean.clients

    def edges(self, round: int) -> Tensor:
        """Who hears whom in this round, on the device, where it goes again only once it has changed.

        bool [receiver, sender]
        """
        here = self.graph.edges(round)
        if self.device.type == "cpu":
            return here.to(self.device)
        known = self._sent.get("edges")
        if known is None or known[0] is not here or known[1] != here._version:
            known = self._sent["edges"] = (here, here._version, here.to(self.device))
        return known[2]

    def attacking(self, round: int) -> bool:
        """Whether the attack is on in this round."""
        plan = self.experiment.attack
        return round >= plan.start and (plan.stop is None or round < plan.stop)

    def seen(self, round: int) -> tuple[Tensor, Tensor]:
        """The inputs and labels that everybody trains on in this round."""
        return self.poisoned if self.attacking(round) else (self.clean.inputs, self.clean.labels)
