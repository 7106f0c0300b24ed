"""Malicious clients tell every victim what keeps it from agreeing with its honest neighbours."""

from __future__ import annotations

import torch

from surefed.attacks.base import Attack, Scene, Whispers
from surefed.core import Belief, Stream


def dissensus(*, eps: float = 1.5) -> Attack:
    """Cancel, or reverse, the pull of a victim's honest neighbours (He, Karimireddy and Jaggi 2022).

    All liars that victim i hears tell it x_i - eps * sum_j (x_j - x_i) / b: j are the honest clients it hears, b is
    how many liars it hears, and all it hears are taken to weigh the same. With eps = 1 its plain average stays x_i;
    above, it is driven away. Each other they tell the truth. Liars that do not know the honest messages take their
    own mean for every victim and every neighbour of it, so that they all send that. The rho stays honest.
    """

    def tamper(scene: Scene, rng: Stream) -> Belief | Whispers:
        own, dtype = scene.own, scene.own.mean.dtype
        liars, honest = scene.camps
        if not scene.omniscient:
            guess = scene.seen if len(scene.seen) > 0 else own
            return Belief(guess.mean.double().mean(0).to(dtype).expand_as(own.mean), own.rho)
        neighbours = scene.edges[honest][:, honest].double()  # [victim, honest]
        reached = scene.edges[honest][:, liars]  # [victim, liar]
        social = scene.seen.mean.double()
        pull = neighbours @ social - neighbours.sum(1, keepdim=True) * social
        lies = (social - eps * pull / reached.sum(1, keepdim=True).clamp_min(1)).to(dtype)
        victim, liar = reached.nonzero(as_tuple=True)
        belief = Belief(torch.cat((lies[victim], own.mean)), torch.cat((own.rho[liar], own.rho)))
        to = torch.zeros(scene.clients, len(belief), dtype=torch.bool, device=liars.device)
        to[honest[victim], torch.arange(len(victim), device=liars.device)] = True
        to[liars, len(victim) :] = True  # a liar hears what the liars honestly learned
        return Whispers(belief, torch.cat((liar, torch.arange(len(liars), device=liars.device))), to)

    return Attack(tamper=tamper)
