"""Inspection on a GPU: of all pairs where there are few clients, else along edges."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from surefed.core.cuda import DENSE

BLOCK = 512
"""Weights to a program that goes along edges."""
PAIRS, LANES, STEPS = 4, 128, 16
"""Receivers and senders to a program that looks at all pairs of them; weights at a time, and how often."""


@triton.jit
def _all_pairs(
    local, width, sent, outside, receivers, senders, weights,
    PAIRS: tl.constexpr, LANES: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Some receivers, some senders and a part of the weights; pairs that others have already told apart are left."""
    receiver = tl.program_id(1) * PAIRS + tl.arange(0, PAIRS)
    sender = tl.program_id(2) * PAIRS + tl.arange(0, PAIRS)
    there, sends = receiver < receivers, sender < senders
    pair = there[:, None] & sends[None, :]
    flags = outside + receiver[:, None] * senders + sender[None, :]
    if tl.min(tl.min(tl.load(flags, mask=pair, other=1), 1), 0) == 0:
        mine_at = receiver.to(tl.int64)[:, None, None] * weights
        theirs_at = sender.to(tl.int64)[None, :, None] * weights
        bad = tl.zeros((PAIRS, PAIRS, LANES), dtype=tl.int32)
        for step in range(STEPS):
            at = ((tl.program_id(0) * STEPS + step) * LANES + tl.arange(0, LANES))[None, None, :]
            mask_mine, mask_theirs = there[:, None, None] & (at < weights), sends[None, :, None] & (at < weights)
            mine = tl.load(local + mine_at + at, mask=mask_mine, other=0.0)
            reach = tl.load(width + mine_at + at, mask=mask_mine, other=0.0)
            theirs = tl.load(sent + theirs_at + at, mask=mask_theirs, other=0.0)
            bad |= tl.where(tl.abs(mine - theirs) <= reach, 0, 1)  # a NaN is not <= anything
        tl.store(flags, 1, mask=pair & (tl.max(bad, 2) != 0))


@triton.jit
def _along_edges(local, width, sent, starts, senders, outside, weights, EDGES: tl.constexpr, BLOCK: tl.constexpr):
    """A receiver and a tile of the weights: its band is loaded once and held against all that it hears."""
    receiver = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    real = at < weights
    mine = tl.load(local + receiver * weights + at, mask=real, other=0.0)[None, :]
    reach = tl.load(width + receiver * weights + at, mask=real, other=0.0)[None, :]
    first, last = tl.load(starts + receiver), tl.load(starts + receiver + 1)
    for start in range(first, last, EDGES):
        edge = start + tl.arange(0, EDGES)
        heard = edge < last
        sender = tl.load(senders + edge, mask=heard, other=0)
        theirs = tl.load(sent + sender[:, None] * weights + at[None, :], mask=heard[:, None] & real[None, :], other=0.0)
        good = (tl.abs(mine - theirs) <= reach) | ~real[None, :]  # a NaN is not <= anything
        bad = tl.min(good.to(tl.int32), 1) == 0
        tl.store(outside + edge, 1, mask=heard & bad)


@triton.jit
def _finite(mean, rho, bad, weights, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    real = at < weights
    m = tl.load(mean + row * weights + at, mask=real, other=0.0)
    r = tl.load(rho + row * weights + at, mask=real, other=0.0)
    good = (tl.abs(m) < float("inf")) & (tl.abs(r) < float("inf"))
    if tl.min(good.to(tl.int32), 0) == 0:
        tl.store(bad + row, 1)


def finite(mean: Tensor, rho: Tensor) -> Tensor:
    """Which rows hold only finite numbers. bool [row]"""
    bad = torch.zeros(len(mean), dtype=torch.int32, device=mean.device)
    grid = (len(mean), triton.cdiv(mean.shape[1], 2048))
    _finite[grid](mean.contiguous(), rho.contiguous(), bad, mean.shape[1], BLOCK=2048, num_warps=8)
    return bad == 0


def listed(edges: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Edges as a list: receivers [edge], senders [edge], and where each receiver's begin [receiver + 1]. int64"""
    receiver, sender = edges.nonzero().T
    starts = torch.nn.functional.pad(edges.sum(1).cumsum(0), (1, 0))
    return receiver.contiguous(), sender.contiguous(), starts


def inspect(local: Tensor, width: Tensor, sent: Tensor, edges: Tensor) -> Tensor:
    """Which senders a receiver hears lie inside its band on every weight. bool [receiver, sender]

    local, width: [receiver, weight]; sent: [sender, weight]; edges: bool [receiver, sender].
    """
    local, width, sent = local.contiguous(), width.contiguous(), sent.contiguous()
    weights = sent.shape[1]
    if edges.numel() <= DENSE:
        outside = (~edges).to(torch.int32)
        tiles = (triton.cdiv(weights, LANES * STEPS), *(triton.cdiv(size, PAIRS) for size in edges.shape))
        _all_pairs[tiles](local, width, sent, outside, *edges.shape, weights, PAIRS=PAIRS, LANES=LANES, STEPS=STEPS)
        return outside == 0
    receiver, sender, starts = listed(edges)
    outside = torch.zeros(len(sender), dtype=torch.int32, device=edges.device)
    grid = (len(edges), triton.cdiv(weights, BLOCK))
    _along_edges[grid](local, width, sent, starts, sender, outside, weights, EDGES=16, BLOCK=BLOCK)
    trusted = torch.zeros_like(edges)
    trusted[receiver, sender] = outside == 0
    return trusted
