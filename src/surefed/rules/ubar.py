"""UBAR: look at who is near, then try the near ones on your own data."""

from __future__ import annotations

import torch
from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import worst_if_not_finite
from surefed.rules.base import Inspection, Nothing, Outcome, Receivers, Rule, stateless

SAME = 1e-7
"""A message this close to the receiver's own belief, relative to their norms, is the receiver's own."""


def ubar(*, share: float = 0.4, alpha: float = 0.5, samples: int = 32) -> Rule[Nothing]:
    """Of the nearest models, average those no worse than yours on your own data (Guo et al. 2021, also as MOZI).

    First the ceil(share * n) nearest of the n heard stay; then those whose loss is at most the receiver's own, or, if
    there is none, the one with the lowest loss. The result is alpha * own + (1 - alpha) * their mean. Of equal ones
    the first stays. The receiver's own message, the one that equals its belief, is not among the n: it would always
    be the nearest, never be worse, and on data it was just trained on leave no room for anybody else.

    Args:
        share: share of the heard that pass the first stage.
        alpha: weight of the receiver's own belief.
        samples: how many of the receiver's own training samples a model is tried on.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share must lie in (0, 1], not {share}")
    if not 0 <= alpha < 1:
        raise ValueError(f"alpha must lie in [0, 1), not {alpha}")
    if samples < 1:
        raise ValueError(f"samples must be at least 1, not {samples}")

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        assert at.loss is not None
        mine, theirs = at.social.mean.double(), sent.mean.double()
        apart = torch.cdist(mine, theirs, compute_mode="use_mm_for_euclid_dist")  # [receiver, sender]
        edges = edges & (apart > SAME * (mine.norm(dim=1, keepdim=True) + theirs.norm(dim=1)))
        order = apart.masked_fill(~edges, torch.inf).argsort(dim=1, stable=True)
        count = (share * edges.sum(1, keepdim=True).double() - 1e-9).ceil()  # 0.1 * 30 must not be rounded up to 4
        near = edges & (order.argsort(dim=1) < count)
        loss = worst_if_not_finite(at.loss(sent.mean, samples)).masked_fill(~near, torch.inf)
        own = worst_if_not_finite(at.loss(at.social.mean, samples).diagonal())  # of its own model each
        best = order.gather(1, loss.gather(1, order).argsort(dim=1, stable=True)[:, :1])
        kept = near & (loss <= own[:, None])
        only = near & torch.zeros_like(near).scatter(1, best, True)
        kept = torch.where(kept.any(1, keepdim=True), kept, only)
        alone = ~kept.any(1, keepdim=True)
        weight = (1 - alpha) * kept.double() / kept.sum(1, keepdim=True).clamp_min(1)
        mean = (alpha * mine + weight @ theirs).to(sent.mean.dtype)
        rho = (alpha * at.social.rho.double() + weight @ sent.rho.double()).to(sent.rho.dtype)
        social = Belief(torch.where(alone, at.social.mean, mean), torch.where(alone, at.social.rho, rho))
        return Outcome(social, state, Inspection(kept))

    return Rule(stateless, judge, needs=frozenset({"loss"}), learner="point")
