"""Inspection along edges on a GPU."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 512
"""Weights to a program."""
DENSE = 1 << 14
"""Pairs up to which all are looked at."""


@triton.jit
def _inspect(local, width, sent, starts, senders, outside, weights, EDGES: tl.constexpr, BLOCK: tl.constexpr):
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


def inspect(local: Tensor, width: Tensor, sent: Tensor, edges: Tensor) -> Tensor:
    """Which senders a receiver hears lie inside its band on every weight. bool [receiver, sender]

    local, width: [receiver, weight]; sent: [sender, weight]; edges: bool [receiver, sender]. Where there are few clients
    every pair is looked at, so that the host need not wait to learn which edges there are.
    """
    local, width, sent = local.contiguous(), width.contiguous(), sent.contiguous()
    shape, device = edges.shape, edges.device
    if edges.numel() <= DENSE:
        starts = torch.arange(0, (shape[0] + 1) * shape[1], shape[1], device=device)
        sender = torch.arange(shape[1], device=device).repeat(shape[0])
    else:
        receiver, sender = edges.nonzero().T
        starts = torch.nn.functional.pad(edges.sum(1).cumsum(0), (1, 0))
    outside = torch.zeros(len(sender), dtype=torch.int32, device=device)
    grid = (shape[0], triton.cdiv(sent.shape[1], BLOCK))
    _inspect[grid](local, width, sent, starts, sender.contiguous(), outside, sent.shape[1], EDGES=16, BLOCK=BLOCK)
    if edges.numel() <= DENSE:
        return edges & (outside == 0).view(shape)
    trusted = torch.zeros_like(edges)
    trusted[receiver, sender] = outside == 0
    return trusted
