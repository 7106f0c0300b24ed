"""What the networks of many clients say about samples, in blocks that fit in memory."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from surefed.core import Belief, Stream, sample
from surefed.learn.base import values_at_once
from surefed.learn.fast import outputs
from surefed.learn.functional import Network

WORK = {"cpu": 1 << 17, "cuda": 1 << 26}
"""Input numbers times rows that go through the network in one call: a large test set goes through one row after the
other, where a row fills the machine by itself; a small one through many rows at once."""
BUNDLE = 64
"""Rows that are compared at once."""


@torch.no_grad()
def predict(
    network: Network,
    belief: Belief,
    inputs: Tensor,
    *,
    buffers: Tensor | None = None,
    draws: int = 0,
    noise: Stream | None = None,
    round: int = 0,
) -> Tensor:
    """What is predicted for the same inputs, by each row's mean or averaged over weights drawn from its belief.

    Args:
        belief: [row, weight].
        inputs: [sample, ...], the same for all rows.
        buffers: [row, number], the rows' running statistics; needed only by a network that keeps some.
        draws: 0 uses the mean; more is a Monte-Carlo average with the numbers of `noise`, one stream per row.

    Returns:
        float32 [row, sample, ...], as the network's likelihood reads it: probabilities of classes, for instance.
    """
    at_once = WORK.get(inputs.device.type, WORK["cpu"])
    height = max(1, min(len(belief), at_once // max(1, inputs.numel())))
    length = max(1, values_at_once(inputs.device) // (height * network.kept(inputs)))
    done = []
    for first in range(0, len(belief), height):
        part = slice(first, first + height)
        kept = None if buffers is None else buffers[part]
        drawn = _weights(belief[part], draws, None if noise is None else noise[part], round)
        found = (_outputs(network, weights, kept, inputs, length) for weights in drawn)
        done.append(network.likelihood.predictive(found))
    return torch.cat(done)


def distinct(rows: Tensor) -> tuple[Tensor, Tensor]:
    """One row of each set of equal ones, and which of these every row is, bit for bit. int64 [distinct], [row]"""
    bits = rows.contiguous().view(torch.int32)
    _, place = bits.sum(1, dtype=torch.int64).unique(return_inverse=True)
    everybody = torch.arange(len(rows), device=rows.device)
    first = torch.full_like(everybody, len(rows)).scatter_reduce(0, place, everybody, "amin")[: int(place.max()) + 1]
    if len(first) == len(rows):
        return everybody, everybody
    same = all(
        torch.equal(part, bits[first[one]]) for part, one in zip(bits.split(BUNDLE), place.split(BUNDLE), strict=True)
    )
    return (first, place) if same else (everybody, everybody)  # else different rows have the same sum


def _weights(belief: Belief, draws: int, noise: Stream | None, round: int) -> Iterator[Tensor]:
    """The mean, or weights drawn from the belief. [row, weight] each"""
    if noise is None or draws == 0:
        yield belief.mean.contiguous()
        return
    for draw in range(draws):
        yield sample(belief, noise.normal(belief.weights, round=round, draw=draw))


def _outputs(network: Network, weights: Tensor, buffers: Tensor | None, inputs: Tensor, length: int) -> Tensor:
    """Outputs of every row, a few samples at a time. [row, sample, ...]"""
    parts = [outputs(network, weights, part[None], buffers) for part in inputs.split(length)]
    return torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]
