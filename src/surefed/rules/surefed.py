"""SureFED: trust a sender only as far as your own doubt reaches, pool the trusted, then look into yourself."""

from __future__ import annotations

from typing import Literal

import torch

from surefed.core import Belief, Scope, band, confidence_set, introspect, measure, pool
from surefed.rules.base import Inspection, Nothing, Outcome, Receivers, Rule, stateless


def surefed(
    *,
    kappa: float = 16.0,
    agreement: float = 1.0,
    introspection: Literal["always", "while_local_learns", "first_rounds", "never"] = "always",
    introspection_rounds: int = 0,
    overwrite: Scope = "mean",
) -> Rule[Nothing]:
    """Pool the senders that lie inside your own band, then repair your own poisoned weights (the paper's rule).

    Sender j is trusted by receiver i when |local_mean_i - mean_j| <= kappa * local_std_i on a share `agreement` of
    the weights, 1.0 being every weight. The client itself is inspected like any other sender. Where the pooled mean
    leaves the client's own band, the local mean is put back.

    Args:
        kappa: width of the band in local stds; the paper has 2, see docs/decisions.md for why ours differs.
        agreement: share of the weights that must lie inside.
        introspection: when a client looks into itself; `first_rounds` means the first `introspection_rounds`.
        overwrite: what introspection puts back: `mean` (the violating weights' means, the paper's algorithm),
            `mean_and_std` (theirs too), or `whole_belief` (everything, once any weight violates; the paper's text).
    """
    if not kappa >= 0:
        raise ValueError(f"kappa must not be negative, and {kappa} is")
    if not 0 < agreement <= 1:
        raise ValueError(f"agreement must lie in (0, 1], not {agreement}")
    if introspection == "first_rounds" and introspection_rounds < 1:
        raise ValueError('introspection = "first_rounds" needs introspection_rounds, how many they are')

    def judge(at: Receivers, sent: Belief, edges: torch.Tensor, state: Nothing) -> Outcome[Nothing]:
        assert at.local is not None
        assert at.local_learns is not None
        width = band(at.local, kappa)
        distances = measure(at.local, width, sent.mean, detail=at.detail or agreement < 1)
        trusted = confidence_set(distances, edges, sent.weights, agreement)
        pooled = pool(sent, trusted, otherwise=at.social)
        looking = {
            "always": torch.ones_like(at.local_learns),
            "while_local_learns": at.local_learns,
            "first_rounds": torch.full_like(at.local_learns, at.round < introspection_rounds),
            "never": torch.zeros_like(at.local_learns),
        }[introspection]
        repaired, overwritten = introspect(pooled, at.local, width, looking, scope=overwrite)
        inspection = Inspection(trusted, distances.outside, distances.worst, distances.sigmas, overwritten)
        return Outcome(repaired, state, inspection)

    return Rule(stateless, judge, needs=frozenset({"local"}))
