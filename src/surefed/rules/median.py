"""Median: the middle value of every weight among whoever is heard."""

from __future__ import annotations

from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import half, mix, trimmed, uniform
from surefed.rules.base import Inspection, Nothing, Outcome, Receivers, Rule, stateless


def median() -> Rule[Nothing]:
    """Take the middle value of every weight among the neighbours (Yin et al. 2018).

    Of an even number, the mean of the two middle values. Rhos are averaged; who hears nobody keeps its own belief.
    """

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        mean = trimmed(sent.mean, edges, half(edges), otherwise=at.social.mean)
        rho = mix(at.social.rho, sent.rho, *uniform(edges))
        return Outcome(Belief(mean, rho), state, Inspection(edges))

    return Rule(stateless, judge, learner="point", steady=True)
