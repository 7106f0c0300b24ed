"""Introspection on a GPU, in one pass."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024
"""Weights to a program."""


@triton.jit
def _repair(social, local, width, active, out, count, weights, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    real = at < weights
    here = row * weights + at
    theirs = tl.load(social + here, mask=real, other=0.0)
    mine = tl.load(local + here, mask=real, other=0.0)
    reach = tl.load(width + here, mask=real, other=0.0)
    looks = tl.load(active + row) != 0
    violating = (tl.abs(mine - theirs) > reach) & looks & real
    tl.store(out + here, tl.where(violating, mine, theirs), mask=real)
    found = tl.sum(violating.to(tl.int32), 0)
    if found > 0:
        tl.atomic_add(count + row, found)


def repair(social: Tensor, local: Tensor, width: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
    """The social means with the local ones where they leave the band, and how many do. [receiver, weight], [receiver]

    social, local, width: [receiver, weight]; active: bool [receiver].
    """
    social, local, width = social.contiguous(), local.contiguous(), width.contiguous()
    rows, weights = social.shape
    out, count = torch.empty_like(social), torch.zeros(rows, dtype=torch.int32, device=social.device)
    grid = (rows, triton.cdiv(weights, BLOCK))
    _repair[grid](social, local, width, active.to(torch.uint8), out, count, weights, BLOCK=BLOCK)
    return out, count.to(torch.int64)
