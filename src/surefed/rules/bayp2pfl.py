"""BayP2PFL: pool every neighbour's belief by precision, with no defence."""

from __future__ import annotations

from torch import Tensor

from surefed.core import Belief, pool
from surefed.rules.base import Inspection, Nothing, Outcome, Receivers, Rule, equally_certain, stateless


def bayp2pfl() -> Rule[Nothing]:
    """Pool every neighbour's belief by precision; no defence (Wang, Lalitha, Javidi and Koushanfar 2022)."""

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        return Outcome(pool(equally_certain(sent, at.certain), edges, at.social), state, Inspection(edges))

    return Rule(stateless, judge, steady=True)
