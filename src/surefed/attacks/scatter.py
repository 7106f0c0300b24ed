"""Malicious clients hide that they all want the same: each leans, besides, a way of its own."""

from __future__ import annotations

import math
from dataclasses import replace

from surefed.attacks.base import Attack, Scene
from surefed.attacks.trojan import Pattern, trojan
from surefed.core import Belief, Stream


def scatter(*, target: int = 2, share: float = 0.3125, pattern: Pattern = "auto", spread: float = 1.0) -> Attack:
    """The backdoor of `trojan`, made against those who look for camps (ours; core/camps.py).

    Every malicious client adds to what it learned, in every round, the same vector of its own: of a direction drawn
    once, `spread` times as long as its update of that round. What all of them want is then a smaller part of what each
    pushes for in the long run, so that they no longer look alike, while their own ways cancel where many are pooled.

    Args:
        target, share, pattern: as in `trojan`.
        spread: how long the vector is, beside the update; 0 is `trojan`.
    """
    if not (math.isfinite(spread) and spread >= 0):
        raise ValueError(f"spread must be a finite number, at least 0, and {spread} is not")

    def tamper(scene: Scene, rng: Stream) -> Belief:
        length = (scene.own.mean - scene.start.mean).norm(dim=1, keepdim=True)
        way = rng.normal(scene.own.weights, round=0)
        return Belief(scene.own.mean + spread * length * way / way.norm(dim=1, keepdim=True), scene.own.rho)

    return replace(trojan(target=target, share=share, pattern=pattern), tamper=tamper)
