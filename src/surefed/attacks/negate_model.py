"""Malicious clients send their model with every sign turned."""

from __future__ import annotations

from surefed.attacks.base import Attack, Scene
from surefed.core import Belief, Stream


def negate_model() -> Attack:
    """Send minus the model instead of the model (He, Karimireddy and Jaggi 2022, their decentralised bit flip).

    Where `sign_flip` turns the round's update, this turns all that was ever learned. The rho stays honest.
    """

    def tamper(scene: Scene, rng: Stream) -> Belief:
        return Belief(-scene.own.mean, scene.own.rho)

    return Attack(tamper=tamper, steady=True)
