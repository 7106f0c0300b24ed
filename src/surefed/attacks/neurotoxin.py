"""Malicious clients hide a trigger in the weights that the honest ones hardly move."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from surefed.attacks.alie import crowd
from surefed.attacks.base import Attack, Scene
from surefed.attacks.trojan import Pattern, scaled, trojan
from surefed.core import Belief, Stream


def quiet(scene: Scene, keep: float) -> Tensor:
    """The round(keep * weights) weights that the crowd moved least on average; of equals, the first. bool [weight]"""
    means, starts = crowd(scene)
    moved = (means - starts).mean(0).abs()
    least = moved.argsort(stable=True)[: round(keep * len(moved))]
    return torch.zeros_like(moved, dtype=torch.bool).index_fill(0, least, True)


def neurotoxin(
    *,
    target: int = 2,
    share: float = 0.3125,
    pattern: Pattern = "auto",
    scale: float = 1.0,
    keep: float = 0.95,
) -> Attack:
    """Plant the backdoor of `trojan` outside the weights the crowd moves most, so that it lasts (Zhang et al. 2022).

    A share `keep` of the weights, those with the smallest |mean update of the crowd| in this round, carries the
    poisoned update; the others, mean and rho, stay where the malicious client started. All liars use the same weights.
    Zhang et al. mask every gradient step; here the update of the whole round is masked. With own_data the crowd is the
    liars, whose updates come from poisoned samples: they then avoid the weights that they themselves move most.

    Args:
        target, share, pattern, scale: as in `trojan`.
        keep: the share of the weights that is poisoned; Zhang et al. use 0.95 to 0.99, and 1 is `trojan`.
    """
    if not 0 < keep <= 1:
        raise ValueError(f"keep must lie in (0, 1], not {keep}")

    def tamper(scene: Scene, rng: Stream) -> Belief:
        poisoned = quiet(scene, keep)
        mean = torch.where(poisoned, scaled(scene, scale), scene.start.mean)
        return Belief(mean, torch.where(poisoned, scene.own.rho, scene.start.rho))

    return replace(trojan(target=target, share=share, pattern=pattern, scale=scale), tamper=tamper)
