"""Norm clipping: nobody moves the average by more than a bound."""

from __future__ import annotations

from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import clip_weights, from_own, mix, norms, products, uniform
from surefed.rules.base import Inspection, Nothing, Outcome, Receivers, Rule, stateless


def clipping(*, bound: float | None = None, factor: float = 3.0) -> Rule[Nothing]:
    """Scale every neighbour's update down to a bounded norm, then average (Sun et al. 2019; Bagdasaryan et al. 2020).

    start + mean_j (x_j - start) / max(1, ||x_j - start|| / M), start being the receiver's weights before this round.
    ByzFL (González et al. 2025) clips the vectors themselves, as if start were 0. Rhos are averaged; who hears nobody
    keeps its own belief.

    Args:
        bound: M; None is `factor` times the norm of the receiver's own update of this round.
        factor: how many own updates long another's may be.
    """
    if bound is not None and not bound > 0:
        raise ValueError(f"bound is the longest update let through, above 0, not {bound}")
    if not factor > 0:
        raise ValueError(f"factor is how many own updates long another's may be, above 0, not {factor}")

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        assert at.previous is not None
        start = at.previous.mean
        radius = factor * norms(at.social.mean, minus=start) if bound is None else bound
        weight = clip_weights(from_own(products(start, sent.mean)), edges, radius)
        mean = mix(start, sent.mean, 1.0 - weight.sum(1, keepdim=True), weight)
        mean = mean.where(edges.any(1, keepdim=True), at.social.mean)
        rho = mix(at.social.rho, sent.rho, *uniform(edges))
        return Outcome(Belief(mean, rho), state, Inspection(edges))

    return Rule(stateless, judge, needs=frozenset({"previous"}), learner="point", steady=True)
