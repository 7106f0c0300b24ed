"""Who lies inside whose band: the confidence set of the paper, and the repair of a poisoned self."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Literal

import torch
from torch import Tensor

from surefed.core import cuda, native
from surefed.core.belief import Belief

Scope = Literal["mean", "mean_and_std", "whole_belief"]
"""What introspection overwrites: the violating weights' means (the paper's algorithm), their means and stds,
or the whole belief of a client with any violating weight (the paper's text)."""


FAULTS = ("", "another way", "against us", "outside", "far ahead", "another camp")
"""Why SureFED leaves a sender out, by number: it goes another way than the receiver's own data; it has pushed back what
the receiver and its neighbours learn; weights of it lie outside the band; it has pushed far harder than any data would;
it is in a camp that pushes for something else. 0 where it is trusted."""


@dataclass(frozen=True, slots=True)
class Distances:
    """How far each sender lies from each receiver's reference. All are [receiver, sender].

    excess: the largest |reference - mean| - band over the weights; at most 0 means inside the band on every weight.
    outside: how many weights are outside; None unless asked for.
    worst: the index of the weight that is the most stds away; None unless asked for.
    sigmas: how many stds away that weight is; None unless asked for.
    """

    excess: Tensor
    outside: Tensor | None = None
    worst: Tensor | None = None
    sigmas: Tensor | None = None


def band(local: Belief, kappa: float | Tensor) -> Tensor:
    """Half the width of the confidence interval of every weight, kappa * std. [receiver, weight]

    kappa is one number, one per receiver [receiver, 1] or one per weight.
    """
    width = local.std * kappa
    return torch.nan_to_num_(width, nan=0.0, posinf=torch.inf)  # inf * 0 is no evidence of anything


def measure(
    local: Belief, width: Tensor, means: Tensor, *, detail: bool = False, edges: Tensor | None = None
) -> Distances:
    """Compare every receiver's reference with every sender's mean, never holding [receiver, sender, weight].

    `excess <= 0` holds exactly when |reference - mean| <= width on every weight: the sign of a floating-point
    difference is exact. A NaN mean gives a NaN excess, which is not <= 0.

    Args:
        local: [receiver, weight].
        width: [receiver, weight], the band.
        means: [sender, weight].
        detail: also count the violating weights and find the worst one (slower).
        edges: bool [receiver, sender], who hears whom. Where there are many clients and few edges, only these pairs are
            looked at: the excess of the others is infinite, and the rest of them is 0.
    """
    if edges is not None and edges.numel() > cuda.DENSE and 4 * int(edges.sum()) < edges.numel():
        return _measure_edges(local, width, means, edges)
    if detail and native.fits(local.mean, width, means):
        return Distances(*native.survey(local.mean, width, local.std, means))
    receivers, senders = len(local), means.shape[0]
    std = local.std if detail else local.mean
    excess = means.new_full((receivers, senders), -torch.inf)
    shape = (receivers, senders)
    outside = torch.zeros(shape, dtype=torch.int64, device=means.device) if detail else None
    worst = torch.zeros(shape, dtype=torch.int64, device=means.device) if detail else None
    sigmas = torch.zeros_like(excess) if detail else None
    budget = 1 << (21 if means.device.type == "cpu" else 27)  # numbers in the one buffer, reused from tile to tile
    height = max(1, min(receivers, budget // (64 * senders + 1)))
    length = max(64, budget // (height * senders + 1))
    buffer = means.new_empty(height * senders * min(length, local.weights))
    for first, start in product(range(0, receivers, height), range(0, local.weights, length)):
        at, part = slice(first, min(first + height, receivers)), slice(start, min(start + length, local.weights))
        tile = (at.stop - at.start, senders, part.stop - part.start)
        gap = buffer[: math.prod(tile)].view(tile)
        torch.sub(local.mean[at, None, part], means[None, :, part], out=gap).abs_()
        if outside is not None and worst is not None and sigmas is not None:
            outside[at] += (gap > width[at, None, part]).sum(-1)
            far, where = (gap / std[at, None, part]).max(-1)
            farther = far > sigmas[at]
            worst[at] = torch.where(farther, where + start, worst[at])
            sigmas[at] = torch.where(farther, far, sigmas[at])
        torch.maximum(excess[at], gap.sub_(width[at, None, part]).amax(-1), out=excess[at])
    return Distances(excess, outside, worst, sigmas)


def _measure_edges(local: Belief, width: Tensor, means: Tensor, edges: Tensor) -> Distances:
    """The same of the pairs that hear each other, a bundle at a time."""
    found = Distances(
        means.new_full(edges.shape, torch.inf),
        torch.zeros(edges.shape, dtype=torch.int64, device=means.device),
        torch.zeros(edges.shape, dtype=torch.int64, device=means.device),
        means.new_zeros(edges.shape),
    )
    assert found.outside is not None
    assert found.worst is not None
    assert found.sigmas is not None
    std, size = local.std, max(1, (1 << (21 if means.device.type == "cpu" else 27)) // local.weights)
    receiver, sender = edges.nonzero().T
    for at, of in zip(receiver.split(size), sender.split(size), strict=True):
        gap = (local.mean[at] - means[of]).abs_()  # [pair, weight]
        found.outside[at, of] = (gap > width[at]).sum(-1)
        found.sigmas[at, of], found.worst[at, of] = (gap / std[at]).max(-1)
        found.excess[at, of] = gap.sub_(width[at]).amax(-1)
    return found


def inside(local: Belief, width: Tensor, means: Tensor, edges: Tensor) -> Tensor:
    """Senders that a receiver hears and finds inside its band on every weight (the paper's rule).

    bool [receiver, sender]; it looks at edges only, and no further than the first weight outside, where there is
    native code for it.
    """
    if native.fits(local.mean, width, means):
        return native.inspect(local.mean, width, means, edges)
    if cuda.fits(local.mean, width, means):
        from surefed.core.cuda.edges import inspect  # here, because it needs Triton

        return inspect(local.mean, width, means, edges)
    return edges & (measure(local, width, means).excess <= 0)


def confidence_set(distances: Distances, edges: Tensor, weights: int, agreement: float = 1.0) -> Tensor:
    """Senders that a receiver hears and finds inside its band on a share `agreement` of the weights.

    agreement = 1 is the paper's rule: inside on every weight. bool [receiver, sender]
    """
    if agreement >= 1.0:
        return edges & (distances.excess <= 0)
    if distances.outside is None:
        raise ValueError("a share of agreement needs the count of violating weights: measure(..., detail=True)")
    tolerated = int((1.0 - agreement) * weights + 1e-9)
    return edges & (distances.outside <= tolerated) & ~distances.excess.isnan()


def introspect(
    social: Belief, local: Belief, width: Tensor, active: Tensor, *, scope: Scope = "mean"
) -> tuple[Belief, Tensor]:
    """Where the social mean leaves the client's own band, put the local one back.

    Args:
        social, local: [receiver, weight].
        width: [receiver, weight], the band.
        active: bool [receiver], who looks into itself this round.
        scope: what is overwritten.

    Returns:
        the repaired social belief and how many weights were violating. [receiver]
    """
    given = social.mean, local.mean, width
    if scope == "mean" and native.fits(*given):
        repaired, found = native.repair(*given, active)
        return Belief(repaired, social.rho), found
    if scope == "mean" and cuda.fits(*given):
        from surefed.core.cuda.repair import repair  # here, because it needs Triton

        repaired, found = repair(*given, active)
        return Belief(repaired, social.rho), found
    violating = ((local.mean - social.mean).abs() > width) & active[:, None]
    count = violating.sum(-1)
    if scope == "whole_belief":
        violating = violating.any(-1, keepdim=True).expand_as(violating)
    mean = torch.where(violating, local.mean, social.mean)
    rho = social.rho if scope == "mean" else torch.where(violating, local.rho, social.rho)
    return Belief(mean, rho), count
