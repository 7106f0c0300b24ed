"""What the networks of many clients say about samples, in blocks that fit in memory."""

from __future__ import annotations

import torch
from torch import Tensor

from surefed.core import Belief, Stream, sample
from surefed.learn.functional import Network

WORK = 1 << 17
"""Input numbers times rows that go through the network in one call: a large test set goes through one row after the
other, where a row fills the machine by itself; a small one through many rows at once."""


@torch.no_grad()
def predict(
    network: Network, belief: Belief, inputs: Tensor, *, draws: int = 0, noise: Stream | None = None, round: int = 0
) -> Tensor:
    """Class probabilities on the same inputs, by each row's mean or averaged over weights drawn from its belief.

    Args:
        belief: [row, weight].
        inputs: [sample, ...], the same for all rows.
        draws: 0 uses the mean; more is a Monte-Carlo average with the numbers of `noise`, one stream per row.

    Returns:
        float32 [row, sample, class].
    """
    height = max(1, WORK // max(1, inputs.numel()))
    return torch.cat(
        [
            _block(network, belief[part], inputs, draws, None if noise is None else noise[part], round)
            for part in (slice(first, first + height) for first in range(0, len(belief), height))
        ]
    )


def _block(network: Network, belief: Belief, inputs: Tensor, draws: int, noise: Stream | None, round: int) -> Tensor:
    seen = inputs.expand(len(belief), *inputs.shape)
    if noise is None or draws == 0:
        return network.apply(network.split(belief.mean.contiguous()), seen).softmax(-1)
    total = torch.zeros(())
    for draw in range(draws):
        eps = noise.normal(belief.weights, round=round, draw=draw)
        total = total + network.apply(network.split(sample(belief, eps)), seen).softmax(-1)
    return total / draws


def accuracy(probabilities: Tensor, labels: Tensor) -> Tensor:
    """Share of samples on which the most probable class is the label. [row]

    A row with a NaN, the ruin of a network fed with poisoned weights, gets 0 for that sample.
    """
    right = (probabilities.argmax(-1) == labels) & ~probabilities.isnan().any(-1)
    return right.float().mean(-1)


def losses(probabilities: Tensor, labels: Tensor) -> Tensor:
    """-log p(label) of every sample, counted as at most 100. [row, sample]"""
    chosen = probabilities.gather(-1, labels.expand(probabilities.shape[:-1]).unsqueeze(-1)).squeeze(-1)
    return (-chosen.nan_to_num(0.0).log()).clamp_max(100.0)


def log_loss(probabilities: Tensor, labels: Tensor) -> Tensor:
    """Mean of -log p(label). [row]"""
    return losses(probabilities, labels).mean(-1)
