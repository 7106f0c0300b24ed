"""Malicious clients are honest but for a huge step back every few rounds."""

from __future__ import annotations

from surefed.attacks.base import Attack, Scene, Whispers
from surefed.attacks.ipm import ipm
from surefed.core import Belief, Stream


def pulse(*, epsilon: float = 50.0, every: int = 5) -> Attack:
    """In every `every`-th round send start - epsilon * the crowd's mean update, else the truth (ours).

    Against rules that remember how senders behaved from round to round and not how far they went: one huge lie weighs
    there as much as one small truth. The rho stays honest.

    Args:
        epsilon: how many of the crowd's mean updates a pulse takes back.
        every: a pulse comes in the rounds that this divides, counted from 0.
    """
    back = ipm(epsilon=epsilon).tamper
    assert back is not None
    if every < 1:
        raise ValueError(f"every must be at least 1, not {every}")

    def tamper(scene: Scene, rng: Stream) -> Belief | Whispers:
        return scene.own if scene.number % every else back(scene, rng)

    return Attack(tamper=tamper)
