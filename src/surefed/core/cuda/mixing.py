"""Mixes of own and sent weights on a GPU, for all receivers: what is sent is read as float32 and summed in float64."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

RECEIVERS, TILE, WARPS = 8, 128, 4
"""Receivers, weights and warps of a program."""


@triton.jit
def _mixed(own, sent, keep, share, out, receivers, senders, weights, RECEIVERS: tl.constexpr, TILE: tl.constexpr):
    """keep: float64 [receiver]; share: float64 [sender, receiver]."""
    receiver = tl.program_id(1) * RECEIVERS + tl.arange(0, RECEIVERS)
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    here = receiver < receivers
    where, real = receiver.to(tl.int64)[:, None] * weights + at[None, :], here[:, None] & (at < weights)[None, :]
    mine = tl.load(own + where, mask=real, other=0.0).to(tl.float64)
    total = tl.load(keep + receiver, mask=here, other=0.0)[:, None] * mine
    for sender in tl.range(0, senders, loop_unroll_factor=2):
        theirs = tl.load(sent + tl.cast(sender, tl.int64) * weights + at, mask=at < weights, other=0.0).to(tl.float64)
        total += tl.load(share + sender * receivers + receiver, mask=here, other=0.0)[:, None] * theirs[None, :]
    tl.store(out + where, total.to(tl.float32), mask=real)


def mix(own: Tensor, sent: Tensor, keep: Tensor, weight: Tensor) -> Tensor:
    """What `core.robust.mix` gives. [receiver, weight]"""
    (receivers, weights), out = own.shape, torch.empty(own.shape, device=own.device)
    _mixed[(triton.cdiv(weights, TILE), triton.cdiv(receivers, RECEIVERS))](
        own.contiguous(), sent.contiguous(), keep.expand(receivers, 1).contiguous(), weight.T.contiguous(), out,
        receivers, len(sent), weights, RECEIVERS=RECEIVERS, TILE=TILE, num_warps=WARPS,
    )  # fmt: skip
    return out
