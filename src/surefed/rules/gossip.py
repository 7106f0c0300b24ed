"""Gossip: an average of the neighbours in which nobody counts more for having many."""

from __future__ import annotations

import torch
from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import mix
from surefed.rules.base import Inspection, Nothing, Outcome, Receivers, Rule, stateless


def gossip() -> Rule[Nothing]:
    """Average the neighbours with Metropolis weights, and keep the rest of one's own; no defence (Xiao and Boyd 2004).

    W_ij = 1 / (1 + max(d_i, d_j)) for every other sender j heard, d counting the others that each hears, and
    W_ii = 1 - sum of these. On an undirected graph W is doubly stochastic: the mean over all clients stays where it
    is, which plain averaging moves towards those with many neighbours.
    """

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        assert at.degrees is not None
        own = (edges.sum(1, keepdim=True) - 1).clamp_min(0)  # who hears others hears itself
        weight = torch.where(edges, 1.0 / (1 + torch.maximum(own, at.degrees[None])).double(), 0.0)
        keep = 1.0 - weight.sum(1, keepdim=True)
        social = Belief(mix(at.social.mean, sent.mean, keep, weight), mix(at.social.rho, sent.rho, keep, weight))
        return Outcome(social, state, Inspection(edges))

    return Rule(stateless, judge, needs=frozenset({"degrees"}), learner="point", steady=True)
