"""Malicious clients send a little of the opposite of what the crowd learned."""

from __future__ import annotations

import math
from typing import Literal

from surefed.attacks.alie import crowd
from surefed.attacks.base import Attack, Scene
from surefed.core import Belief, Stream


def ipm(*, epsilon: float = 0.1, on: Literal["update", "model"] = "update") -> Attack:
    """Send start - epsilon * the crowd's mean update: inner product manipulation (Xie, Koyejo and Gupta 2020).

    A small epsilon hides near the honest updates and slows them down, a large one turns them round. On the `model`,
    as in the code of He, Karimireddy and Jaggi (2022), it sends -epsilon * the crowd's mean model, which draws
    everybody to 0. Epsilon is the tau of ByzFL (González et al. 2025), whose sign flipping is epsilon 1. The rho stays
    honest.
    """
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise ValueError(f"epsilon must be a finite number, at least 0, and {epsilon} is not")

    def tamper(scene: Scene, rng: Stream) -> Belief:
        means, starts = crowd(scene)
        if on == "model":
            return Belief((-epsilon * means.mean(0)).expand_as(scene.own.mean), scene.own.rho)
        return Belief(scene.start.mean - epsilon * (means - starts).mean(0), scene.own.rho)

    return Attack(tamper=tamper, steady=True)
