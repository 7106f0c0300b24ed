"""Centered clipping: go towards everybody, towards nobody further than a radius."""

from __future__ import annotations

import torch
from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import clip_weights, mix, norms, products, squared_distances, uniform
from surefed.rules.base import Inspection, Need, Nothing, Outcome, Receivers, Rule, stateless


def centered_clipping(*, tau: float | None = None, steps: int = 1, factor: float = 3.0) -> Rule[Nothing]:
    """Move from one's own weights towards every neighbour's, at most a radius each (Karimireddy, He and Jaggi 2021).

    `steps` times v <- v + (1/n) sum_j (x_j - v) min(1, tau / ||x_j - v||), v starting from the receiver's own weights,
    which is the centre it can rely on without a server. ByzFL (González et al. 2025) starts from 0, later from its last
    result. Rhos are averaged; who hears nobody keeps its own belief.

    Args:
        tau: the radius; None is `factor` times the norm of the receiver's own update of this round.
        steps: how often to move.
        factor: how many own updates long the radius is.
    """
    if tau is not None and not tau > 0:
        raise ValueError(f"tau is a radius, above 0, not {tau}")
    if steps < 1:
        raise ValueError(f"steps is how often to move, 1 or more, not {steps}")
    if not factor > 0:
        raise ValueError(f"factor is how many own updates long the radius is, above 0, not {factor}")

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        own = at.social.mean
        radius: Tensor | float
        if tau is None:
            assert at.previous is not None
            radius = factor * norms(own, minus=at.previous.mean)
        else:
            radius = tau
        known = products(own, sent.mean)
        keep, weight = torch.ones_like(known.own)[:, None], torch.zeros_like(known.cross)
        for _ in range(steps):
            pull = clip_weights(squared_distances(known, keep, weight), edges, radius)
            stay = 1.0 - pull.sum(1, keepdim=True)
            keep, weight = stay * keep, stay * weight + pull
        rho = mix(at.social.rho, sent.rho, *uniform(edges))
        return Outcome(Belief(mix(own, sent.mean, keep, weight), rho), state, Inspection(edges))

    needed: frozenset[Need] = frozenset() if tau is not None else frozenset({"previous"})
    return Rule(stateless, judge, needs=needed, learner="point", steady=True)
