"""Malicious clients claim to know nothing."""

from __future__ import annotations

from surefed.attacks.base import Attack, Scene
from surefed.core import STD_MIN, Belief, Stream, rho_of

LARGEST = 1e30
"""The largest std that is claimed; its rho is a finite float32, and so is the sum of many."""


def variance_bloat(*, factor: float = 1e3) -> Attack:
    """Send the honest mean with a std so large that the receivers' doubt grows with every pooling (ours).

    Claims factor * own std. Where beliefs are weighed by precision the message counts for nothing but still takes its
    share of the average precision; where rhos are averaged it makes everybody doubt.
    """
    if not factor > 0:
        raise ValueError(f"factor must be positive, not {factor}")

    def tamper(scene: Scene, rng: Stream) -> Belief:
        claimed = rho_of((factor * scene.own.std.double()).clamp(STD_MIN, LARGEST))
        return Belief(scene.own.mean, claimed.to(scene.own.rho.dtype))

    return Attack(tamper=tamper, steady=True)
