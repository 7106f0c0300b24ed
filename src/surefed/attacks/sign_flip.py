"""Malicious clients send the opposite of what they learned."""

from __future__ import annotations

from surefed.attacks.base import Attack, Scene
from surefed.core import Belief, Stream


def sign_flip() -> Attack:
    """Send start - update instead of start + update (the bit flip of Karimireddy, He and Jaggi 2021).

    The update is what a malicious client learned minus where it started. ByzFL (González et al. 2025) flips the honest
    clients' mean update instead, which is `ipm` with epsilon 1. The rho stays honest.
    """

    def tamper(scene: Scene, rng: Stream) -> Belief:
        return Belief(scene.start.mean - (scene.own.mean - scene.start.mean), scene.own.rho)

    return Attack(tamper=tamper, steady=True)
