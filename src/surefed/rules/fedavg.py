"""FedAvg between peers: the plain average of the neighbours' weights."""

from __future__ import annotations

import torch
from torch import Tensor

from surefed.core import Belief
from surefed.rules.base import Inspection, Nothing, Outcome, Receivers, Rule, stateless


def fedavg() -> Rule[Nothing]:
    """Average the neighbours' means and rhos with equal weights; no defence (McMahan et al. 2017, peer to peer)."""

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        weight = edges.double()
        total = weight.sum(1, keepdim=True)
        weight = weight / total.clamp_min(1.0)
        alone = total == 0
        mean = (weight @ sent.mean.double()).to(sent.mean.dtype)
        rho = (weight @ sent.rho.double()).to(sent.rho.dtype)
        social = Belief(torch.where(alone, at.social.mean, mean), torch.where(alone, at.social.rho, rho))
        return Outcome(social, state, Inspection(edges))

    return Rule(stateless, judge, learner="point")
