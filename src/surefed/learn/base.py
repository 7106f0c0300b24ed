"""What every learner shares: rows of weights and moments, the round's lesson, and the blocks it is taken in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from surefed.core import Belief, Stream
from surefed.learn.functional import Network

BLOCK = 1 << 20
"""Weights in a block on a CPU. A few clients at a time, each block doing all its batches while it is in the cache,
measured faster than the whole stack or single clients (docs/decisions.md); on a GPU the whole stack is one block."""

STEEPEST = 1e15
"""The largest slope a learner is shown."""


@dataclass(slots=True)
class Rows:
    """The weights of many networks and what their optimiser remembers; updated in place by whoever owns them.

    mean, rho: [row, weight]. moments: [row, weight] each. steps: [row], how many steps each row has taken.
    """

    mean: Tensor
    rho: Tensor
    moments: tuple[Tensor, ...]
    steps: Tensor

    def belief(self, part: slice = slice(None)) -> Belief:
        """A view of some rows as a belief; it changes when the rows do."""
        return Belief(self.mean[part], self.rho[part])

    def __getitem__(self, part: slice | Tensor) -> Rows:
        moments = tuple(moment[part] for moment in self.moments)
        return Rows(self.mean[part], self.rho[part], moments, self.steps[part])

    def __setitem__(self, part: slice | Tensor, rows: Rows) -> None:
        self.mean[part], self.rho[part], self.steps[part] = rows.mean, rows.rho, rows.steps
        for mine, other in zip(self.moments, rows.moments, strict=True):
            mine[part] = other


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the rows see in one round: each row its own minibatches and its own noise.

    inputs: [sample, ...] and labels: [sample], of all clients together.
    batches: int64 [row, batch, sample], indices into them.
    sizes: int64 [row], how many samples the row's client has.
    noise: one stream per row.
    round: which round it is.
    """

    inputs: Tensor
    labels: Tensor
    batches: Tensor
    sizes: Tensor
    noise: Stream
    round: int


class Learner(Protocol):
    """A way to move rows of weights towards the data."""

    def init(self, mean: Tensor, rows: int) -> Rows:
        """Rows that all start from the same weights. mean: [weight]"""

    def learn(self, rows: Rows, lesson: Lesson, active: Tensor | None = None) -> None:
        """Take the round's steps, in place, on the rows marked active (default: all)."""


def blocks(rows: int, weights: int, active: Tensor | None, device: torch.device) -> Iterator[slice | Tensor]:
    """Cut the active rows into blocks of a size that suits the device; slices wherever rows are neighbours."""
    height = max(1, BLOCK // weights) if device.type == "cpu" else rows
    if active is None or bool(active.all()):
        yield from (slice(first, min(first + height, rows)) for first in range(0, rows, height))
    else:
        yield from active.nonzero().flatten().split(height)


def draw_batches(order: Stream, sizes: Tensor, round: int, batches: int, batch_size: int) -> Tensor:
    """The minibatches of a round: each client's samples in a random order, begun again if they run out.

    int64 [client, batch, sample], indices among the client's own samples.
    """
    shuffled = order.order(sizes, round=round)  # [client, longest]
    turn = torch.arange(batches * batch_size, device=sizes.device) % sizes[:, None]
    return shuffled.gather(1, turn).view(-1, batches, batch_size)


def gradient(network: Network, weights: Tensor, inputs: Tensor, labels: Tensor) -> Tensor:
    """Gradient of every row's mean cross-entropy with respect to its own weights. [row, weight]

    A row whose gradient is not a number, as when a neighbour sent weights of 1e20, counts as 0; a huge one is cut to
    STEEPEST, whose square is still a number.
    """
    leaves = [part.detach().requires_grad_() for part in network.split(weights)]
    with torch.enable_grad():
        scores = network.apply(leaves, inputs)  # [row, sample, class]
        loss = F.cross_entropy(scores.flatten(0, 1), labels.flatten(), reduction="sum") / labels.shape[1]
    slopes = torch.cat([part.flatten(1) for part in torch.autograd.grad(loss, leaves)], dim=1)
    finite = torch.isfinite(slopes.sum(1, keepdim=True))
    if not bool(finite.all()):
        slopes = torch.where(finite, slopes, 0.0)
    return slopes.clamp_(-STEEPEST, STEEPEST)
