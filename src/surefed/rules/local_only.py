"""Learn alone: the lower bound that any federation has to beat."""

from __future__ import annotations

import torch
from torch import Tensor

from surefed.core import Belief
from surefed.rules.base import Inspection, Nothing, Outcome, Receivers, Rule, stateless


def local_only() -> Rule[Nothing]:
    """Listen to nobody; every client learns from its own data alone (control)."""

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        return Outcome(at.social, state, Inspection(torch.zeros_like(edges)))

    return Rule(stateless, judge, steady=True)
