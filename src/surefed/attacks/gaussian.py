"""Malicious clients add noise to what they learned and go on claiming the same certainty."""

from __future__ import annotations

from typing import Literal

from surefed.attacks.base import Attack, Scene
from surefed.core import Belief, Stream


def gaussian(*, scale: float = 1.0, mode: Literal["add", "replace", "absolute"] = "add") -> Attack:
    """Drown the round's update in Gaussian noise (Pillutla, Kakade and Harchaoui 2022, as the paper words it).

    With u the update of a malicious client (what it learned minus where it started) and s the standard deviation
    of u's own components: `add` sends start + u + scale * s * noise, `replace` sends start + scale * s * noise,
    `absolute` sends start + scale * noise (200 in Xie et al. 2019). ByzFL (González et al. 2025) sends mu + sigma *
    noise, around no start, the same noise for every malicious client. The rho stays honest.
    """
    if scale < 0:
        raise ValueError(f"scale must not be negative, and {scale} is")

    def tamper(scene: Scene, rng: Stream) -> Belief:
        update = scene.own.mean - scene.start.mean
        noise = rng.normal(scene.own.weights, round=scene.round)
        spread = 1.0 if mode == "absolute" else update.std(dim=-1, keepdim=True, correction=0)
        kept = update if mode == "add" else 0.0
        return Belief(scene.start.mean + kept + scale * spread * noise, scene.own.rho)

    return Attack(tamper=tamper, steady=True)
