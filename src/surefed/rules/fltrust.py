"""FLTrust between peers: every client is the server of its own neighbourhood, its own data the root set."""

from __future__ import annotations

import torch
from torch import Tensor

from surefed.core import Belief
from surefed.rules.base import Inspection, Nothing, Outcome, Receivers, Rule, stateless

STILL = 1e-7
"""A sender this close to where the receiver started, relative to their norms, has not moved and has no direction."""


def fltrust() -> Rule[Nothing]:
    """Weigh updates by their cosine with your own, all scaled to its length (Cao et al. 2021, peer to peer).

    With p the receiver's belief before this round, g_0 its own update and g_j = x_j - p: TS_j = ReLU(cos(g_j, g_0)),
    and the result is p + sum_j TS_j (|g_0| / |g_j|) g_j / sum_j TS_j. If every TS is 0, the receiver keeps its own
    update. The client itself is a sender like any other, which the original, with a server apart, does not have.
    """

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        assert at.previous is not None
        before, theirs = at.previous.mean.double(), sent.mean.double()
        own = at.social.mean.double() - before
        length = own.norm(dim=1, keepdim=True)
        lengths = torch.cdist(before, theirs, compute_mode="use_mm_for_euclid_dist")  # |g_j| [receiver, sender]
        along = own @ theirs.T - (own * before).sum(1, keepdim=True)  # <g_j, g_0> [receiver, sender]
        moved = lengths > STILL * (before.norm(dim=1, keepdim=True) + theirs.norm(dim=1))
        lengths = torch.where(moved, lengths, 1.0)
        cosine = along / (lengths * torch.where(length > 0, length, 1.0))
        score = torch.where(edges & moved, cosine.clamp(0.0, 1.0), 0.0)
        total = score.sum(1, keepdim=True)
        alone = total == 0
        weight = score / total.masked_fill(alone, 1.0)
        scaled = weight * length / lengths
        mean = (before * (1 - scaled.sum(1, keepdim=True)) + scaled @ theirs).to(sent.mean.dtype)
        rho = (weight @ sent.rho.double()).to(sent.rho.dtype)
        social = Belief(torch.where(alone, at.social.mean, mean), torch.where(alone, at.social.rho, rho))
        return Outcome(social, state, Inspection(score > 0))

    return Rule(stateless, judge, needs=frozenset({"previous"}), learner="point", steady=True)
