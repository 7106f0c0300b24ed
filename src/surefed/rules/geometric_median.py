"""Geometric median: the point with the smallest sum of distances to whoever is heard."""

from __future__ import annotations

from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import mix, products, squared_distances, uniform
from surefed.rules.base import Inspection, Nothing, Outcome, Receivers, Rule, stateless


def geometric_median(*, nu: float = 0.1, steps: int = 8) -> Rule[Nothing]:
    """Go to the point nearest to all neighbours by smoothed Weiszfeld steps (RFA; Pillutla, Kakade and Harchaoui 2022).

    From the plain mean, `steps` times v <- sum_j b_j x_j / sum_j b_j with b_j = 1 / max(nu, ||v - x_j||). Every step
    shrinks what a distant sender contributes by a factor only, so against lies of 1e20 eight steps are too few. ByzFL
    (González et al. 2025) starts from 0 and takes 3 steps. Rhos are averaged; who hears nobody keeps its own belief.

    Args:
        nu: distances below this count as this.
        steps: how many steps to take.
    """
    if not nu > 0:
        raise ValueError(f"nu is the smallest distance told apart, above 0, not {nu}")
    if steps < 0:
        raise ValueError(f"steps is how many steps to take, 0 or more, not {steps}")

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        known = products(at.social.mean, sent.mean)
        keep, equal = uniform(edges)
        weight = equal
        for _ in range(steps):
            near = edges / squared_distances(known, keep, weight).sqrt_().clamp_min_(nu)
            weight = near / near.sum(1, keepdim=True).masked_fill(keep > 0, 1.0)
        mean = mix(at.social.mean, sent.mean, keep, weight)
        return Outcome(Belief(mean, mix(at.social.rho, sent.rho, keep, equal)), state, Inspection(edges))

    return Rule(stateless, judge, learner="point", steady=True)
