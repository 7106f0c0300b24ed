"""Malicious clients leave the crowd no farther than its most central member is from everybody else."""

from __future__ import annotations

import torch

from surefed.attacks.base import Attack, Scene
from surefed.attacks.min_max import Direction, leave
from surefed.core import Belief, Stream


def min_sum(*, direction: Direction = "-sd") -> Attack:
    """Keep the summed squared distances within those of an honest client (Shejwalkar and Houmansadr 2021).

    As `min_max`, but g is the largest for which the squared distances to the crowd sum to no more than those of its
    most central client to the others; the minimum is what the authors' code takes. The rho stays honest.
    """

    def tamper(scene: Scene, rng: Stream) -> Belief:
        way = leave(scene, direction)
        return Belief(way.farthest(torch.sum, way.between.sum(1).min()).expand_as(scene.own.mean), scene.own.rho)

    return Attack(tamper=tamper, steady=True)
