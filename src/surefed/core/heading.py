"""Headings: which way beliefs have gone since the start that all share, seen with the receiver's own doubt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from surefed.core import cuda
from surefed.core.belief import Belief

TILE = 1 << 13
"""Weights at a time on a CPU, where a tile of every client has to stay in the cache."""
PAIRS = 1 << 22
"""Numbers that are held at a time where only some pairs are looked at."""


class Ways(NamedTuple):
    """Ways from the start to some means, seen by a receiver in its local stds and beside the way to its local mean.

    heading: the cosine of the two ways: 1 the same way, 0 nothing in common, -1 the opposite; 0 where somebody has not
        moved. Unlike a distance it does not grow as everybody learns, and two parties that learned the same thing from
        different data keep a common direction.
    reach: how far the mean has come along the local way, as a share of it: 1 as far as the local mean, 0 nowhere.
    """

    heading: Tensor
    reach: Tensor


def ways(local: Belief, start: Tensor, means: Tensor, edges: Tensor) -> Ways:
    """The way to each sender's mean. [receiver, sender]; only pairs that hear each other where these are few, else 0.

    Args:
        local: [receiver, weight]; a weight of infinite std does not count.
        start: [weight], the mean that everybody began with.
        means: [sender, weight].
        edges: bool [receiver, sender].
    """
    if edges.is_cuda and edges.numel() <= cuda.DENSE:  # nothing that the host would have to wait for
        return _of_all(local, start, means)
    heard = int(edges.sum())
    return _of_all(local, start, means) if 4 * heard >= edges.numel() else _of_some(local, start, means, edges)


def own_way(local: Belief, start: Tensor, mean: Tensor) -> Ways:
    """The way to another mean of each receiver's own. mean: [receiver, weight]. [receiver]"""
    if cuda.fits(local.mean, local.rho, start, mean):
        from surefed.core.cuda.heading import each_pair  # here, because it needs Triton

        everybody = torch.arange(len(local), device=mean.device)
        return _seen(*each_pair(local.mean, local.rho, start, mean, everybody, everybody))
    together, theirs, mine = (_exact(mean.new_zeros(len(local))) for _ in range(3))
    for part, way, scale in _local_ways(local, start):
        other = _exact(mean[:, part] - start[part]) * scale
        together += (way * other).sum(1)
        theirs += other.square().sum(1)
        mine += way.square().sum(1)
    return _seen(together, theirs, mine)


def _of_all(local: Belief, start: Tensor, means: Tensor) -> Ways:
    """Every receiver with every sender, as products of matrices."""
    if cuda.fits(local.mean, local.rho, start, means):
        from surefed.core.cuda.heading import all_pairs  # here, because it needs Triton

        return _seen(*all_pairs(local.mean, local.rho, start, means))
    together, theirs = (_exact(means.new_zeros(len(local), len(means))) for _ in range(2))
    mine = _exact(means.new_zeros(len(local), 1))
    for part, way, scale in _local_ways(local, start):
        gone = _exact(means[:, part] - start[part])
        together += (way * scale) @ gone.T
        theirs += scale.square() @ gone.square().T
        mine += way.square().sum(1, keepdim=True)
    return _seen(together, theirs, mine)


def _of_some(local: Belief, start: Tensor, means: Tensor, edges: Tensor) -> Ways:
    """The pairs that hear each other, a bundle at a time; 0 for the others."""
    receiver, sender = edges.nonzero().T
    found = Ways(*(_exact(means.new_zeros(edges.shape)) for _ in range(2)))
    if cuda.fits(local.mean, local.rho, start, means):
        from surefed.core.cuda.heading import each_pair  # here, because it needs Triton

        pairs = _seen(*each_pair(local.mean, local.rho, start, means, receiver, sender))
        found.heading[receiver, sender], found.reach[receiver, sender] = pairs
        return found
    size = max(1, PAIRS // max(1, local.weights))
    for at, of in zip(receiver.split(size), sender.split(size), strict=True):
        found.heading[at, of], found.reach[at, of] = own_way(local[at], start, means[of])
    return found


def _local_ways(local: Belief, start: Tensor) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """Part by part: the way to the local mean in local stds, and 1 / std. [receiver, weight]"""
    std, step = local.std, max(1, local.weights if local.mean.is_cuda else TILE)
    for first in range(0, local.weights, step):
        part = slice(first, min(first + step, local.weights))
        scale = _exact(std[:, part]).reciprocal()
        yield part, _exact(local.mean[:, part] - start[part]) * scale, scale


def _exact(values: Tensor) -> Tensor:
    """In float64, so that a receiver alone finds what it finds among others; a GPU keeps to what it is quick at."""
    return values if values.is_cuda else values.double()


def _seen(together: Tensor, theirs: Tensor, mine: Tensor) -> Ways:
    """From the product of two ways, and each one's with itself; 0 where there is no way."""
    squares, tiny = mine * theirs, torch.finfo(together.dtype).tiny
    heading = torch.where(squares > 0, together / squares.sqrt().clamp(min=tiny), 0.0)
    return Ways(heading, torch.where(mine > 0, together / mine.clamp(min=tiny), 0.0))
