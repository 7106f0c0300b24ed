"""BALANCE: accept whoever is near one's own weights, and ask for more nearness as time goes by."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import from_own, mix, norms, products, uniform
from surefed.rules.base import Inspection, Nothing, Outcome, Receivers, Rule, stateless


def balance(*, gamma: float = 0.3, kappa: float = 1.0, alpha: float = 0.5) -> Rule[Nothing]:
    """Average with the neighbours that are relatively near, nearer from round to round (Fang et al. 2024).

    j is accepted when ||x_i - x_j|| <= gamma * exp(-kappa * t / T) * ||x_i||; then x_i becomes
    alpha * x_i + (1 - alpha) * mean of the accepted. Rhos of the accepted are averaged. Who accepts nobody keeps its
    own belief. A receiver that hears itself accepts itself.

    Args:
        gamma: how far, in lengths of one's own weights, is near in round 0.
        kappa: how fast that shrinks; 0 is never.
        alpha: the share of one's own weights in the result.
    """
    if not gamma > 0:
        raise ValueError(f"gamma is a relative distance, above 0, not {gamma}")
    if not kappa >= 0:
        raise ValueError(f"kappa is how fast the distance shrinks, 0 or more, not {kappa}")
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha is a share between 0 and 1, not {alpha}")

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        own = at.social.mean
        near = gamma * math.exp(-kappa * at.round / max(at.rounds, 1)) * norms(own)
        accepted = edges & (from_own(products(own, sent.mean)).sqrt_() <= near)
        alone, equal = uniform(accepted)
        keep = torch.where(alone > 0, 1.0, alpha)
        social = Belief(mix(own, sent.mean, keep, (1.0 - keep) * equal), mix(at.social.rho, sent.rho, alone, equal))
        return Outcome(social, state, Inspection(accepted))

    return Rule(stateless, judge, learner="point")
