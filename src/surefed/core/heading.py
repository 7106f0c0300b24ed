"""Headings: which way beliefs have gone since the start that all share, seen with the receiver's own doubt."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from surefed.core import cuda, native
from surefed.core.belief import Belief

TILE = 1 << 13
"""Weights at a time on a CPU, where a tile of every client has to stay in the cache."""
PAIRS = 1 << 22
"""Numbers that are held at a time where only some pairs are looked at."""


def headings(local: Belief, start: Tensor, means: Tensor, edges: Tensor) -> Tensor:
    """The cosine of the way from the start to each sender's mean with that to the local one, seen in local stds.

    1 is the same way, 0 nothing in common, -1 the opposite; 0 where somebody has not moved. Unlike a distance it does
    not grow as everybody learns, and two parties that learned the same from different data keep a common direction.

    Args:
        local: [receiver, weight]; a weight of infinite std does not count.
        start: [weight], the mean that everybody began with.
        means: [sender, weight].
        edges: bool [receiver, sender]. Where few hear each other only these pairs are looked at; the others get 0.
    """
    return _of_some(local, start, means, edges) if few(edges) else _of_all(local, start, means)


def few(edges: Tensor) -> bool:
    """Whether so few hear each other that it pays to look at these pairs only. bool [receiver, sender]"""
    if edges.is_cuda and edges.numel() <= cuda.DENSE:  # nothing that the host would have to wait for
        return False
    return 4 * int(edges.sum()) < edges.numel()


def own_heading(local: Belief, start: Tensor, mean: Tensor) -> Tensor:
    """The heading of another mean of each receiver's own. mean: [receiver, weight]. [receiver]"""
    everybody = torch.arange(len(local), device=mean.device)
    by_kernel = _pairs(local, start, mean, everybody, everybody)
    if by_kernel is not None:
        return _cosine(*by_kernel)
    together, theirs, mine = (_exact(mean.new_zeros(len(local))) for _ in range(3))
    for part, way, scale in _local_ways(local, start):
        other = _exact(mean[:, part] - start[part]) * scale
        together += (way * other).sum(1)
        theirs += other.square().sum(1)
        mine += way.square().sum(1)
    return _cosine(together, theirs, mine)


def _of_all(local: Belief, start: Tensor, means: Tensor) -> Tensor:
    """Every receiver with every sender, as products of matrices."""
    if cuda.fits(local.mean, local.rho, start, means):
        from surefed.core.cuda.heading import all_pairs  # here, because it needs Triton

        return _cosine(*all_pairs(local.mean, local.rho, start, means))
    if native.fits(local.mean, local.rho, start, means):
        shape = len(local), len(means)
        everybody = torch.ones(shape, dtype=torch.bool).nonzero().T
        return _cosine(*native.each_pair(local.mean, local.rho, start, means, *everybody)).view(shape)
    together, theirs = (_exact(means.new_zeros(len(local), len(means))) for _ in range(2))
    mine = _exact(means.new_zeros(len(local), 1))
    for part, way, scale in _local_ways(local, start):
        gone = _exact(means[:, part] - start[part])
        together += (way * scale) @ gone.T
        theirs += scale.square() @ gone.square().T
        mine += way.square().sum(1, keepdim=True)
    return _cosine(together, theirs, mine)


def _of_some(local: Belief, start: Tensor, means: Tensor, edges: Tensor) -> Tensor:
    """The pairs that hear each other, a bundle at a time; 0 for the others."""
    receiver, sender = edges.nonzero().T
    found = _exact(means.new_zeros(edges.shape))
    by_kernel = _pairs(local, start, means, receiver, sender)
    if by_kernel is not None:
        found[receiver, sender] = _cosine(*by_kernel).to(found.dtype)
        return found
    size = max(1, PAIRS // max(1, local.weights))
    for at, of in zip(receiver.split(size), sender.split(size), strict=True):
        found[at, of] = own_heading(local[at], start, means[of])
    return found


def _pairs(local: Belief, start: Tensor, means: Tensor, receiver: Tensor, sender: Tensor) -> tuple[Tensor, ...] | None:
    """What `_cosine` takes, of pairs ordered by receiver, from a kernel in C or on a GPU; None where torch must."""
    given = local.mean, local.rho, start, means
    if native.fits(*given):
        return native.each_pair(*given, receiver, sender)
    if cuda.fits(*given):
        from surefed.core.cuda.heading import each_pair  # here, because it needs Triton

        return each_pair(*given, receiver, sender)
    return None


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


def _cosine(together: Tensor, theirs: Tensor, mine: Tensor) -> Tensor:
    """From the product of two ways, and each one's with itself; 0 where there is no way."""
    squares = mine * theirs
    return torch.where(squares > 0, together / squares.sqrt().clamp(min=torch.finfo(together.dtype).tiny), 0.0)
