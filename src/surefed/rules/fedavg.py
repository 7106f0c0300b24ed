"""FedAvg between peers: the plain average of the neighbours' weights."""

from __future__ import annotations

from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import mix, uniform
from surefed.rules.base import Inspection, Nothing, Outcome, Receivers, Rule, stateless


def fedavg() -> Rule[Nothing]:
    """Average the neighbours' means and rhos with equal weights; no defence (McMahan et al. 2017, peer to peer)."""

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        keep, weight = uniform(edges)
        social = Belief(mix(at.social.mean, sent.mean, keep, weight), mix(at.social.rho, sent.rho, keep, weight))
        return Outcome(social, state, Inspection(edges))

    return Rule(stateless, judge, learner="point", steady=True)
