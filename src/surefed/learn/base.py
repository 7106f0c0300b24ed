"""What every learner shares: rows of weights and moments, the round's lesson, and the blocks it is taken in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from surefed.core import Belief, Round, Stream
from surefed.learn.functional import Network
from surefed.learn.masks import Masks

BLOCK = 1 << 20
"""Weights in a block on a CPU. A few clients at a time, each block doing all its batches while it is in the cache,
measured faster than the whole stack or single clients (docs/decisions.md); on a GPU the whole stack is one block."""

VALUES = 1 << 24
"""Numbers that the layers of a block keep, or a prediction goes through, at once on a CPU: 64 MiB; on a GPU 64 times as
many."""

STEEPEST = 1e15
"""The largest slope a learner is shown."""


@dataclass(slots=True)
class Rows:
    """The weights of many networks and what their optimiser remembers; updated in place by whoever owns them.

    mean, rho: [row, weight]. moments: [row, weight] each. steps: [row], how many steps each row has taken.
    buffers: [row, number], the running statistics of networks that keep some; never sent to anybody.
    """

    mean: Tensor
    rho: Tensor
    moments: tuple[Tensor, ...]
    steps: Tensor
    buffers: Tensor

    def belief(self, part: slice = slice(None)) -> Belief:
        """A view of some rows as a belief; it changes when the rows do."""
        return Belief(self.mean[part], self.rho[part])

    def __getitem__(self, part: slice | Tensor) -> Rows:
        moments = tuple(moment[part] for moment in self.moments)
        return Rows(self.mean[part], self.rho[part], moments, self.steps[part], self.buffers[part])

    def __setitem__(self, part: slice | Tensor, rows: Rows) -> None:
        self.mean[part], self.rho[part], self.steps[part] = rows.mean, rows.rho, rows.steps
        self.buffers[part] = rows.buffers
        for mine, other in zip(self.moments, rows.moments, strict=True):
            mine[part] = other

    def clone(self) -> Rows:
        """The same rows in memory of their own."""
        moments = tuple(moment.clone() for moment in self.moments)
        return Rows(self.mean.clone(), self.rho.clone(), moments, self.steps.clone(), self.buffers.clone())

    def put_back(self, before: Rows, chosen: Tensor) -> None:
        """The chosen rows are again what they were before; a GPU need not be waited for. chosen: bool [row]"""
        torch.where(chosen, before.steps, self.steps, out=self.steps)
        mine = (self.mean, self.rho, *self.moments, self.buffers)
        for value, was in zip(mine, (before.mean, before.rho, *before.moments, before.buffers), strict=True):
            torch.where(chosen[:, None], was, value, out=value)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the rows see in one round: each row its own minibatches and its own noise.

    inputs: [sample, ...] and labels: [sample, ...], of all clients together.
    batches: int64 [row, batch, sample], indices into them.
    sizes: int64 [row], how many samples the row's client has.
    noise: one stream per row, for the weights and for layers such as dropout.
    round: which round it is; a tensor that holds it where the round is captured on a GPU.
    """

    inputs: Tensor
    labels: Tensor
    batches: Tensor
    sizes: Tensor
    noise: Stream
    round: Round


class Learner(Protocol):
    """A way to move rows of weights towards the data."""

    def init(self, mean: Tensor, rows: int) -> Rows:
        """Rows that all start from the same weights. mean: [weight]"""

    def learn(self, rows: Rows, lesson: Lesson, active: Tensor | None = None) -> None:
        """Take the round's steps, in place, on the rows marked active (default: all)."""


def begin(
    network: Network, mean: Tensor, rho: float, rows: int, moments: int, dtype: torch.dtype | None = None
) -> Rows:
    """Rows that all start from the same weights, with so many moments that are still zero. mean: [weight]

    dtype: that of the moments; default: the weights'.
    """
    start = mean.expand(rows, -1).contiguous()
    steps = torch.zeros(rows, dtype=torch.int64, device=start.device)
    buffers = network.initial_buffers().to(start.device).repeat(rows, 1)
    blank = tuple(torch.zeros_like(start, dtype=dtype) for _ in range(moments))
    return Rows(start, torch.full_like(start, rho), blank, steps, buffers)


def values_at_once(device: torch.device) -> int:
    """How many numbers may be in flight between the layers of a network."""
    return VALUES if device.type == "cpu" else 64 * VALUES


def blocks(network: Network, rows: Rows, lesson: Lesson, active: Tensor | None) -> Iterator[slice | Tensor]:
    """Cut the active rows into blocks of a size that suits the device; slices wherever rows are neighbours.

    Both the weights of a block and what its layers keep of a minibatch are bounded; a block has at least one row.
    """
    count, device = len(rows.steps), rows.mean.device
    most = values_at_once(device) // (lesson.batches.shape[2] * network.kept(lesson.inputs))
    height = max(1, min(most, BLOCK // network.weights if device.type == "cpu" else count))
    if active is None or bool(active.all()):
        yield from (slice(first, min(first + height, count)) for first in range(0, count, height))
    else:
        yield from active.nonzero().flatten().split(height)


def each_block(
    network: Network, rows: Rows, lesson: Lesson, active: Tensor | None
) -> Iterator[tuple[slice | Tensor, Rows]]:
    """Block after block: which rows, and these rows to be changed in place; what was changed is kept."""
    for part in blocks(network, rows, lesson, active):
        block = rows[part]
        yield part, block
        if isinstance(part, Tensor):  # a slice is a view, already written
            rows[part] = block


def draw_batches(
    order: Stream, sizes: Tensor, round: Round, batches: int, batch_size: int, longest: int | None = None
) -> Tensor:
    """The minibatches of a round: each client's samples in a random order, begun again if they run out.

    longest: max(sizes), if it is known. int64 [client, batch, sample], indices among the client's own samples.
    """
    shuffled = order.order(sizes, round=round, longest=longest)  # [client, longest]
    turn = torch.arange(batches * batch_size, device=sizes.device) % sizes[:, None]
    return shuffled.gather(1, turn).view(-1, batches, batch_size)


def slopes(network: Network, weights: Tensor, inputs: Tensor, labels: Tensor, masks: Masks, buffers: Tensor) -> Tensor:
    """Gradient of every row's mean loss with respect to its own weights, whatever it is. [row, weight]

    Running statistics move on, in place.

    Args:
        weights: [row, weight].
        inputs, labels: [row, sample, ...].
        masks: what layers such as dropout draw.
        buffers: [row, number].
    """
    leaves = [part.detach().requires_grad_() for part in network.split(weights)]
    with torch.enable_grad():
        outputs = network.apply(leaves, inputs, masks=masks, buffers=buffers)  # [row, sample, ...]
        loss = network.likelihood.energy(outputs, labels)
    return torch.cat([part.flatten(1) for part in torch.autograd.grad(loss, leaves)], dim=1)


def gradient(
    network: Network, weights: Tensor, inputs: Tensor, labels: Tensor, masks: Masks, buffers: Tensor
) -> Tensor:
    """The slopes as a learner is shown them. [row, weight]

    A row whose gradient is not a number, as when a neighbour sent weights of 1e20, counts as 0; a huge one is cut to
    STEEPEST, whose square is still a number.
    """
    found = slopes(network, weights, inputs, labels, masks, buffers)
    finite = torch.isfinite(found.sum(1, keepdim=True))
    if found.is_cuda or not bool(finite.all()):  # a GPU would have to be waited for
        found = torch.where(finite, found, 0.0)
    return found.clamp_(-STEEPEST, STEEPEST)
