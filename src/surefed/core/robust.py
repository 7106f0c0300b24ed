"""What robust averages share: order statistics, distances from inner products, and mixes of own and sent weights.

A mix is `keep * own + weight @ sent`, keep being [receiver, 1] and weight [receiver, sender]. Rules that pull step by
step only change these few numbers: the distance from a mix to every sender follows from inner products taken once.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from surefed.core import cuda
from surefed.core.gaussian import tiles


class Products(NamedTuple):
    """Inner products of weights, float64: own with itself [receiver], own and sent, sent and sent."""

    own: Tensor  # [receiver]
    cross: Tensor  # [receiver, sender]
    sent: Tensor  # [sender, sender]


def products(own: Tensor, sent: Tensor) -> Products:
    """All inner products that distances between mixes and senders are made of; `sent` is exactly symmetric."""
    found = Products(
        torch.zeros(len(own), dtype=torch.float64, device=own.device),
        torch.zeros(len(own), len(sent), dtype=torch.float64, device=own.device),
        torch.zeros(len(sent), len(sent), dtype=torch.float64, device=own.device),
    )
    for part in tiles(sent.shape[1], len(own) + len(sent), sent.device):
        mine, theirs = own[:, part].double(), sent[:, part].double()
        found.own.add_(mine.square().sum(1))
        found.cross.addmm_(mine, theirs.T)
        found.sent.addmm_(theirs, theirs.T)
    return found._replace(sent=(found.sent + found.sent.T) / 2)


def squared_distances(of: Products, keep: Tensor, weight: Tensor) -> Tensor:
    """||keep * own + weight @ sent - sent_j||^2, never negative. float64 [receiver, sender]"""
    to_mixes = weight @ of.sent
    inner = keep * of.cross + to_mixes
    norm = keep.square() * of.own[:, None] + ((2 * keep * of.cross + to_mixes) * weight).sum(1, keepdim=True)
    return (norm - 2 * inner + of.sent.diagonal()).clamp_min_(0.0)


def from_products(own: Tensor, sent: Tensor) -> Tensor:
    """||own_i - sent_j||^2, never negative, with no more than one copy of either. float64 [receiver, sender]"""
    mine, theirs = (torch.linalg.vector_norm(value, dim=1, dtype=torch.float64) for value in (own, sent))
    squares: Tensor = mine.square()[:, None] + theirs.square()
    return squares.addmm_(own.double(), sent.double().T, alpha=-2.0).clamp_min_(0.0)


def from_own(of: Products) -> Tensor:
    """||own_i - sent_j||^2, never negative. float64 [receiver, sender]"""
    return (of.own[:, None] - 2 * of.cross + of.sent.diagonal()).clamp_min_(0.0)


def between_senders(of: Products) -> Tensor:
    """||sent_i - sent_j||^2, exactly symmetric, never negative. float64 [sender, sender]"""
    norm = of.sent.diagonal()
    return ((norm[:, None] + norm) - 2 * of.sent).clamp_min_(0.0).fill_diagonal_(0.0)


def uniform(heard: Tensor) -> tuple[Tensor, Tensor]:
    """The mix that is the plain mean of whoever is heard, or oneself where that is nobody: (keep, weight). float64"""
    weight = heard.double()
    count = weight.sum(1, keepdim=True)
    return (count == 0).double(), weight / count.clamp_min(1.0)


def mix(own: Tensor, sent: Tensor, keep: Tensor, weight: Tensor) -> Tensor:
    """keep * own + weight @ sent, summed in float64: a convex mix of finite numbers is finite. [receiver, weight]"""
    if cuda.fits(own, sent) and weight.numel() <= cuda.DENSE:
        from surefed.core.cuda.mixing import mix as mix_there  # here, because it needs Triton

        return mix_there(own, sent, keep, weight)
    mixed = torch.empty_like(own)
    for part in tiles(sent.shape[1], len(own) + len(sent), sent.device):
        mixed[:, part] = (keep * own[:, part].double()).addmm_(weight, sent[:, part].double()).to(mixed.dtype)
    return mixed


def norms(rows: Tensor, minus: Tensor | None = None) -> Tensor:
    """The length of every row, or of its difference from the row of `minus`. float64 [row, 1]"""
    total = torch.zeros(len(rows), 1, dtype=torch.float64, device=rows.device)
    for part in tiles(rows.shape[1], len(rows), rows.device):
        tile = rows[:, part].double()
        total += (tile if minus is None else tile - minus[:, part].double()).square().sum(1, keepdim=True)
    return total.sqrt_()


def clip_weights(squared: Tensor, heard: Tensor, radius: Tensor | float) -> Tensor:
    """How far to go to each sender heard: an equal share of min(1, radius / distance). float64 [receiver, sender]"""
    tiny = torch.finfo(torch.float64).tiny
    return uniform(heard)[1] * (radius / squared.sqrt().clamp_min_(tiny)).clamp_max(1.0)


def at_most(count: Tensor | int, bound: Tensor) -> Tensor:
    """The count, cut to the bound, and not below 0; one per receiver. int64 [receiver]"""
    return torch.as_tensor(count, device=bound.device).to(torch.int64).minimum(bound).clamp_min(0)


def reckoned(told: Tensor | int, most: Tensor) -> tuple[Tensor, Tensor]:
    """How many liars a rule was told of, and how many it can reckon with, at most `most`. int64 [receiver] each"""
    told = told.to(torch.int64) if isinstance(told, Tensor) else torch.full_like(most, told)
    return told, at_most(told, most)


def half(heard: Tensor) -> Tensor:
    """The most values that can be dropped at either end with one left: floor((n - 1) / 2). int64 [receiver]"""
    return ((heard.sum(1) - 1) // 2).clamp_min(0)


def trimmed(values: Tensor, heard: Tensor, drop: Tensor, otherwise: Tensor) -> Tensor:
    """Per weight, the mean of the values heard without the `drop` largest and the `drop` smallest.

    Every weight is sorted once for all receivers; a receiver then counts its own senders along the order. Receivers
    that hear and drop the same share the work, so a complete graph costs as much as a single receiver.

    Args:
        values: [sender, weight].
        heard: bool [receiver, sender].
        drop: int64 [receiver], at most `half(heard)`.
        otherwise: [receiver, weight], the result of a receiver that hears nobody.
    """
    if cuda.fits(values, otherwise) and len(values) <= cuda.SENDERS:
        from surefed.core.cuda.trimming import trimmed as trimmed_there  # here, because it needs Triton

        return trimmed_there(values, heard, drop, otherwise)
    kinds, kind = torch.unique(torch.cat([heard.to(torch.int64), drop[:, None]], 1), dim=0, return_inverse=True)
    hears, first = kinds[:, :-1].bool(), kinds[:, -1, None, None]  # [kind, sender], [kind, 1, 1]
    count = hears.sum(1)[:, None, None]
    result = torch.empty_like(otherwise)
    for part in tiles(values.shape[1], hears.numel(), values.device):
        ordered, sender = values[:, part].sort(0)
        present = hears[:, sender]  # [kind, place, weight]
        place = present.cumsum(1, dtype=torch.int32)
        kept = present & (place > first) & (place <= count - first)
        total = torch.where(kept, ordered.double(), 0.0).sum(1)
        result[:, part] = (total / (count - 2 * first).clamp_min(1)[:, 0]).to(result.dtype)[kind]
    return torch.where(heard.any(1, keepdim=True), result, otherwise)


def krum_scores(of: Products, heard: Tensor, malicious: Tensor | int) -> Tensor:
    """The sum of squared distances from every sender heard to its n - f - 2 (at least 1) closest others heard.

    Infinite for a sender that is not heard, 0 for one that is heard alone. float64 [receiver, sender]
    """
    count = heard.sum(1)
    closest = (count - at_most(malicious, count - 3) - 2).clamp_min(1).minimum(count - 1).clamp_min(0)
    kinds, kind = torch.unique(torch.cat([heard.to(torch.int64), closest[:, None]], 1), dim=0, return_inverse=True)
    hears, terms = kinds[:, :-1].bool(), kinds[:, -1, None, None]
    apart = between_senders(of).fill_diagonal_(torch.inf)
    place = torch.arange(heard.shape[1], device=heard.device)
    scores = torch.empty(hears.shape, dtype=torch.float64, device=heard.device)
    for part in tiles(len(hears), apart.numel(), heard.device):
        ordered = apart.masked_fill(~hears[part, None, :], torch.inf).sort(2).values  # [kind, sender, place]
        scores[part] = ordered.masked_fill_(place >= terms[part], 0.0).sum(2)
    return scores.masked_fill_(~hears, torch.inf)[kind]


def best(scores: Tensor, of: Products, heard: Tensor, count: Tensor | int) -> Tensor:
    """The `count` lowest scores among those heard; of equals, those nearer to the receiver. bool [receiver, sender]"""
    near = from_own(of).masked_fill_(~heard, torch.inf).argsort(dim=1, stable=True)
    order = near.gather(1, scores.gather(1, near).argsort(dim=1, stable=True))
    rank = torch.empty_like(order).scatter_(
        1, order, torch.arange(heard.shape[1], device=heard.device).expand_as(order)
    )
    return heard & (rank < torch.as_tensor(count, device=heard.device).reshape(-1, 1))


def worst_if_not_finite(loss: Tensor) -> Tensor:
    """Losses in float64, one that is infinite or not a number counting as 1e300: worse than any other."""
    return loss.double().nan_to_num(1e300, 1e300)
