"""Malicious clients walk away together, a little farther every round."""

from __future__ import annotations

from surefed.attacks.base import Attack, Scene
from surefed.core import STD_MAX, Belief, Stream


def slow_drift(*, rate: float = 0.5, limit: float = 16.0, first: int = 0) -> Attack:
    """Drift in one random direction, the same for all liars and rounds, by some stds a round (ours).

    Sends own mean + min(rate * (round - first), limit) * own std * direction, direction being +1 or -1 by weight;
    until round `first` the truth. The rho stays honest.

    Args:
        rate: how many of its own stds a liar moves farther every round.
        limit: where it stops, in stds; SureFED's band is 16 of the receiver's local stds.
        first: the round whose lie is still the truth.
    """
    if not rate >= 0:
        raise ValueError(f"rate must not be negative, and {rate} is")
    if not limit >= 0:
        raise ValueError(f"limit must not be negative, and {limit} is")

    def tamper(scene: Scene, rng: Stream) -> Belief:
        direction = 2.0 * (rng[:1].bits(scene.own.weights, round=0, draw=7) >> 31) - 1.0
        far = min(rate * max(scene.number - first, 0), limit)
        std = scene.own.std.double().clamp(max=STD_MAX)
        mean = scene.own.mean.double() + far * std * direction
        return Belief(mean.to(scene.own.mean.dtype), scene.own.rho)

    return Attack(tamper=tamper)
