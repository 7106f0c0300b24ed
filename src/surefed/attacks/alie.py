"""Malicious clients agree on a lie that lies well inside the crowd."""

from __future__ import annotations

import math
from statistics import NormalDist

import torch
from torch import Tensor

from surefed.attacks.base import Attack, Scene
from surefed.core import Belief, Stream

FALLBACK = 1.5
"""The z of Baruch et al.'s own code, for when the formula gives none."""


def z_max(clients: int, malicious: int) -> float:
    """How many standard deviations a lie may be off and still look better than enough honest clients.

    With n clients, f malicious and s = floor(n / 2 + 1) - f honest ones needed for a majority, it is the normal
    quantile of (n - f - s) / (n - f). Where that is no probability strictly between 0 and 1, it is 1.5.
    """
    honest, needed = clients - malicious, clients // 2 + 1 - malicious
    if not 0 < honest - needed < honest:
        return FALLBACK
    return NormalDist().inv_cdf((honest - needed) / honest)


def crowd(scene: Scene) -> tuple[Tensor, Tensor]:
    """The means the attackers judge by and what these started from; their own if they see nobody. [seen, weight]"""
    if len(scene.seen) > 0:
        return scene.seen.mean, scene.seen_start.mean
    return scene.own.mean, scene.start.mean


def spread(means: Tensor) -> Tensor:
    """The unbiased standard deviation of each weight over the clients, 0 for a single one. [weight]"""
    return means.std(dim=0) if len(means) > 1 else torch.zeros_like(means[0])


def alie(*, z: float | None = None) -> Attack:
    """Send mean - z * std of the crowd, a little off in every weight (Baruch, Baruch and Goldberg 2019).

    All malicious clients send the same. Without a z, it is `z_max` of the number of clients and of malicious ones;
    a negative z errs to the other side, as ByzFL (González et al. 2025) does: its tau is -z. The rho stays honest.
    """
    if z is not None and not math.isfinite(z):
        raise ValueError(f"z must be a finite number, or none at all, and {z} is not")

    def tamper(scene: Scene, rng: Stream) -> Belief:
        means, _ = crowd(scene)
        off = z_max(scene.clients, scene.liars) if z is None else z
        return Belief((means.mean(0) - off * spread(means)).expand_as(scene.own.mean), scene.own.rho)

    return Attack(tamper=tamper, steady=True)
