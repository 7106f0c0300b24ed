"""Headings on a GPU: the sums that core/heading.py makes cosines of."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from surefed.core.cuda.noise import softplus

CLIENTS, BLOCK, STEPS, WARPS = 64, 32, 8, 8
"""Receivers and senders, weights at a time, how often, and warps of a program that looks at all pairs."""
LENGTH = 4096
"""Weights to a program that looks at one pair."""


@triton.jit
def _way(mean, rho, start, where, at, real):
    """The way from the start to a mean, in stds, and 1 / std."""
    m, r = tl.load(mean + where, mask=real, other=0.0), tl.load(rho + where, mask=real, other=0.0)
    scale = tl.where(real, 1.0 / softplus(r), 0.0)
    return (m - start) * scale, scale


@triton.jit
def _all_pairs(
    mean, rho, start, sent, together, theirs, mine, receivers, senders, weights,
    CLIENTS: tl.constexpr, BLOCK: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    receiver = tl.program_id(1) * CLIENTS + tl.arange(0, CLIENTS)
    sender = tl.program_id(2) * CLIENTS + tl.arange(0, CLIENTS)
    both = tl.zeros((CLIENTS, CLIENTS), dtype=tl.float32)
    squares = tl.zeros((CLIENTS, CLIENTS), dtype=tl.float32)
    own = tl.zeros((CLIENTS,), dtype=tl.float32)
    for step in range(STEPS):
        at = (tl.program_id(0) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        begin = tl.load(start + at, mask=at < weights, other=0.0)[None, :]
        real = (receiver < receivers)[:, None] & (at < weights)[None, :]
        way, scale = _way(mean, rho, begin, receiver.to(tl.int64)[:, None] * weights + at[None, :], at, real)
        there = (sender < senders)[:, None] & (at < weights)[None, :]
        theirs_at = sender.to(tl.int64)[:, None] * weights + at[None, :]
        gone = tl.where(there, tl.load(sent + theirs_at, mask=there, other=0.0) - begin, 0.0)
        both = tl.dot(way * scale, tl.trans(gone), both, input_precision="tf32x3")
        squares = tl.dot(scale * scale, tl.trans(gone * gone), squares, input_precision="tf32x3")
        own += tl.sum(way * way, 1)
    pair = (receiver < receivers)[:, None] & (sender < senders)[None, :]
    where = (tl.program_id(0) * receivers + receiver)[:, None] * senders + sender[None, :]
    tl.store(together + where, both, mask=pair)
    tl.store(theirs + where, squares, mask=pair)
    tl.store(mine + tl.program_id(0) * receivers + receiver, own, mask=(receiver < receivers) & (tl.program_id(2) == 0))


@triton.jit
def _each_pair(
    mean, rho, start, sent, receivers, senders, sums, parts, pairs, weights,
    LENGTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    pair = tl.program_id(0).to(tl.int64)
    receiver, sender = tl.load(receivers + pair), tl.load(senders + pair)
    both = tl.zeros((BLOCK,), dtype=tl.float32)
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    own = tl.zeros((BLOCK,), dtype=tl.float32)
    for step in range(0, LENGTH, BLOCK):
        at = tl.program_id(1) * LENGTH + step + tl.arange(0, BLOCK)
        real = at < weights
        begin = tl.load(start + at, mask=real, other=0.0)
        way, scale = _way(mean, rho, begin, receiver * weights + at, at, real)
        gone = (tl.load(sent + sender * weights + at, mask=real, other=0.0) - begin) * scale
        both += way * gone
        squares += gone * gone
        own += way * way
    here = sums + pair * parts + tl.program_id(1)
    tl.store(here, tl.sum(both, 0))
    tl.store(here + pairs * parts, tl.sum(squares, 0))
    tl.store(here + 2 * pairs * parts, tl.sum(own, 0))


def all_pairs(mean: Tensor, rho: Tensor, start: Tensor, sent: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of every receiver and sender: the product of their ways, and each one's with itself. float64

    mean, rho: [receiver, weight]; start: [weight]; sent: [sender, weight]. [receiver, sender] twice, [receiver, 1]
    """
    mean, rho, sent = mean.contiguous(), rho.contiguous(), sent.contiguous()
    (receivers, weights), senders = mean.shape, len(sent)
    parts = triton.cdiv(weights, BLOCK * STEPS)
    together, theirs = (mean.new_empty(parts, receivers, senders) for _ in range(2))
    mine = mean.new_empty(parts, receivers, 1)
    grid = (parts, triton.cdiv(receivers, CLIENTS), triton.cdiv(senders, CLIENTS))
    _all_pairs[grid](
        mean, rho, start.contiguous(), sent, together, theirs, mine, receivers, senders, weights,
        CLIENTS=CLIENTS, BLOCK=BLOCK, STEPS=STEPS, num_warps=WARPS, num_stages=1,
    )  # fmt: skip
    return together.sum(0, dtype=torch.float64), theirs.sum(0, dtype=torch.float64), mine.sum(0, dtype=torch.float64)


def each_pair(
    mean: Tensor, rho: Tensor, start: Tensor, sent: Tensor, receiver: Tensor, sender: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The same of some pairs. receiver, sender: int64 [pair]. float64 [pair] each"""
    mean, rho, sent = mean.contiguous(), rho.contiguous(), sent.contiguous()
    pairs, weights = len(receiver), mean.shape[1]
    parts = triton.cdiv(weights, LENGTH)
    sums = mean.new_empty(3, pairs, parts)
    _each_pair[(pairs, parts)](
        mean, rho, start.contiguous(), sent, receiver.contiguous(), sender.contiguous(), sums, parts, pairs, weights,
        LENGTH=LENGTH, BLOCK=1024,
    )  # fmt: skip
    together, theirs, mine = sums.sum(2, dtype=torch.float64)
    return together, theirs, mine
