"""Trimmed means for every receiver, without sorting: a value's rank is a product of who is heard and who is smaller."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

KINDS = 16
"""Kinds of receivers to a program."""


@triton.jit
def _trimmed(values, hears, drop, kinds, out, places, senders, S: tl.constexpr, K: tl.constexpr):
    """One weight. values: [weight, sender]; hears: [place, sender]; drop: [place]; out: [weight, place].

    The first `kinds` places hold the kinds of receivers that there are; nobody reads what is left of `out`.
    """
    weight = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * K + tl.arange(0, K)
    count = tl.load(kinds)
    if tl.program_id(1) * K < count:
        sender = tl.arange(0, S)
        real, here = sender < senders, place < count
        value = tl.load(values + weight * senders + sender, mask=real, other=0.0)
        heard = tl.load(
            hears + place[:, None] * senders + sender[None, :], mask=here[:, None] & real[None, :], other=0
        ).to(tl.float16)
        smaller = value[:, None] < value[None, :]
        before = (value[:, None] == value[None, :]) & (sender[:, None] < sender[None, :])
        rank = tl.dot(heard, (smaller | before).to(tl.float16))  # [place, sender], exact: counts below 2048
        total, cut = tl.sum(heard.to(tl.float32), 1), tl.load(drop + place, mask=here, other=0).to(tl.float32)
        kept = (heard > 0.0) & (rank >= cut[:, None]) & (rank < (total - cut)[:, None])
        added = tl.sum(tl.where(kept, value[None, :].to(tl.float64), 0.0), 1)
        left = tl.maximum(total - 2.0 * cut, 1.0).to(tl.float64)
        tl.store(out + weight * places + place, (added / left).to(tl.float32), mask=here)


def trimmed(values: Tensor, heard: Tensor, drop: Tensor, otherwise: Tensor) -> Tensor:
    """What `core.robust.trimmed` gives, for no more than SENDERS senders, without waiting for the GPU.

    Receivers that hear and drop the same are of one kind and share the work. [receiver, weight]
    """
    (senders, weights), places = values.shape, len(heard)
    number = torch.arange(places, device=heard.device)
    same = (heard[:, None] == heard).all(2) & (drop[:, None] == drop)
    first = torch.where(same, number, places).amin(1)
    leads = first == number
    order = (~leads).to(torch.uint8).argsort(stable=True)
    out = torch.empty(weights, places, device=values.device)
    _trimmed[(weights, triton.cdiv(places, KINDS))](
        values.T.contiguous(), heard[order].to(torch.int8), drop[order], leads.sum(), out, places, senders,
        S=max(16, triton.next_power_of_2(senders)), K=KINDS, num_warps=2,
    )  # fmt: skip
    kind = (leads.cumsum(0) - 1)[first]
    return torch.where(heard.any(1, keepdim=True), out.T[kind], otherwise)
