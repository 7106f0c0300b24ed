"""Malicious clients leave the crowd as far as they can without being its farthest members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from surefed.attacks.alie import crowd, spread
from surefed.attacks.base import Attack, Scene
from surefed.core import Belief, Stream

Direction = Literal["-sd", "-unit", "-sign"]
"""Against the crowd's standard deviation, its mean update, or the signs of that."""


class Exit(NamedTuple):
    """A crowd, a way out of it, and the distances on that way, all from products taken once.

    middle, away: [weight]. between: squared distances within the crowd, float64 [seen, seen].
    square, along: of each one's offset from the middle, its square and its product with away, float64 [seen].
    length: the square of away, float64.
    """

    middle: Tensor
    away: Tensor
    between: Tensor
    square: Tensor
    along: Tensor
    length: Tensor

    def distances(self, step: Tensor) -> Tensor:
        """Squared distances of middle + step * away to everyone in the crowd. float64 [seen]"""
        return self.square - 2 * step * self.along + step**2 * self.length

    def farthest(self, measure: Callable[[Tensor], Tensor], bound: Tensor) -> Tensor:
        """The lie of the largest step whose distances measure no more than the bound, by bisection. [weight]

        Measures are the maximum or the sum; beyond a step of 2 sqrt(bound / length), both exceed the bound.
        """
        low = torch.zeros_like(bound)
        high = torch.where(self.length > 0, 2 * (bound / self.length).sqrt(), low)
        for _ in range(60):
            half = (low + high) / 2
            fits = measure(self.distances(half)) <= bound
            low, high = torch.where(fits, half, low), torch.where(fits, high, half)
        return self.middle + low.to(self.away.dtype) * self.away


def leave(scene: Scene, direction: Direction) -> Exit:
    """The way out of the crowd of a scene in that direction."""
    means, starts = crowd(scene)
    middle, update = means.mean(0), (means - starts).mean(0)
    if direction == "-sd":
        away = -spread(means)
    else:
        away = -update.sign() if direction == "-sign" else -update / update.norm().clamp(min=1e-30)
    offset = means - middle  # products of offsets, not of means: a model far from 0 would drown its distances
    inner = (offset @ offset.T).double()
    square = inner.diagonal()
    between = (square[:, None] + square - 2 * inner).clamp(min=0)
    return Exit(middle, away, between, square, (offset @ away).double(), (away @ away).double())


def min_max(*, direction: Direction = "-sd") -> Attack:
    """Go as far as the two honest clients farthest apart are from each other (Shejwalkar and Houmansadr 2021).

    All malicious clients send mean + g * p for the largest g whose distance to every client of the crowd is within
    the largest distance between two of them. p is minus the crowd's std, minus its mean update scaled to length 1,
    or minus the signs of that. The rho stays honest.
    """

    def tamper(scene: Scene, rng: Stream) -> Belief:
        way = leave(scene, direction)
        return Belief(way.farthest(torch.max, way.between.max()).expand_as(scene.own.mean), scene.own.rho)

    return Attack(tamper=tamper, steady=True)
