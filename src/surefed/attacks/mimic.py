"""Malicious clients all copy one honest client, which then counts for too many."""

from __future__ import annotations

import torch
from torch import Tensor

from surefed.attacks.alie import crowd
from surefed.attacks.base import Attack, Scene
from surefed.core import Belief, Stream


def outlier(means: Tensor, iterations: int = 200) -> Tensor:
    """The index of the client that deviates most along the direction in which the clients vary most.

    Power iteration for the top right singular vector z of the centred means, from a fixed vector. Only the
    deviations (means - mean) @ z matter, so those are iterated, by a small [client, client] matrix.
    """
    centred = means - means.mean(0)
    inner = (centred @ centred.T).double()
    fixed = torch.arange(means.shape[1], device=means.device, dtype=torch.float64).cos().to(means.dtype)
    along = (centred @ fixed).double()
    for _ in range(iterations):
        along = inner @ along
        along = along / along.norm().clamp(min=1e-300)
    return along.abs().argmax()


def mimic() -> Attack:
    """Copy the honest client that deviates most where the honest vary most (Karimireddy, He and Jaggi 2022).

    Nothing sent is out of the ordinary; it hurts where clients' data differ, by drowning all the others. The
    direction is found anew from each round's messages, not carried over from a warm-up. ByzFL (González et al. 2025) is
    told by number whom to copy. The rho stays honest.
    """

    def tamper(scene: Scene, rng: Stream) -> Belief:
        means, _ = crowd(scene)
        return Belief(means.index_select(0, outlier(means).view(1)).expand_as(scene.own.mean), scene.own.rho)

    return Attack(tamper=tamper, steady=True)
