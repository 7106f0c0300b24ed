"""Malicious clients tell half of the network one thing and the other half the opposite."""

from __future__ import annotations

import torch

from surefed.attacks.base import Attack, Scene, Whispers
from surefed.core import STD_MAX, Belief, Stream


def equivocate(*, scale: float = 8.0) -> Attack:
    """Pull two halves of the receivers apart, in one random direction, the same for all liars and rounds (ours).

    Every other honest client (and whoever follows it in the list of clients) is told own mean + scale * own std *
    direction, the rest own mean - scale * own std * direction, direction being +1 or -1 by weight. The rho stays
    honest.

    Args:
        scale: how far either message is from the truth, in the liar's own stds; half of SureFED's band of 16.
    """

    def tamper(scene: Scene, rng: Stream) -> Whispers:
        own = scene.own
        direction = 2.0 * (rng[:1].bits(own.weights, round=0, draw=7) >> 31) - 1.0
        shift = scale * own.std.double().clamp(max=STD_MAX) * direction
        both = torch.cat((own.mean.double() + shift, own.mean.double() - shift)).to(own.mean.dtype)
        liar = torch.arange(scene.liars, device=scene.malicious.device).repeat(2)
        upper = (~scene.malicious).cumsum(0) % 2 == 1  # counting the honest, so that either half has some of them
        to = torch.stack((upper, ~upper), dim=1).repeat_interleave(scene.liars, dim=1)
        return Whispers(Belief(both, own.rho.repeat(2, 1)), liar, to)

    return Attack(tamper=tamper)
