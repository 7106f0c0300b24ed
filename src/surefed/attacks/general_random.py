"""Malicious clients blow up a few weights, picked at random."""

from __future__ import annotations

import math

import torch

from surefed.attacks.base import Attack, Scene
from surefed.core import Belief, Stream


def general_random(*, p: float = 5e-4, factor: float = -1e20) -> Attack:
    """Multiply each weight, with probability p, by a huge factor (the gambler of Xie, Koyejo and Gupta 2018).

    Every malicious client draws its own weights anew in every round. The factor of the paper is easy to spot by
    its size alone; 10 is the harder test. The rho stays honest.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"p is a probability, between 0 and 1, and {p} is not")
    if not math.isfinite(factor):
        raise ValueError(f"factor must be a finite number, and {factor} is not")

    def tamper(scene: Scene, rng: Stream) -> Belief:
        hit = rng.uniform(scene.own.weights, round=scene.round) < p
        return Belief(torch.where(hit, factor * scene.own.mean, scene.own.mean), scene.own.rho)

    return Attack(tamper=tamper, steady=True)
