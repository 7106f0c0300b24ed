"""Leanings on a GPU: sketches in one pass over the beliefs, and one round more of everybody's in another."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

CHUNKS, STEPS = 8, 6
"""How many times SKETCH weights a program looks at at a time, and how often."""


@triton.jit
def _parts(means, signs, found, weights, parts, SKETCH: tl.constexpr, CHUNKS: tl.constexpr, STEPS: tl.constexpr):
    """One row and a part of the weights."""
    row, part, lane = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.arange(0, SKETCH)
    total = tl.zeros((SKETCH,), dtype=tl.float32)
    for step in range(STEPS):
        chunk = (part * STEPS + step) * CHUNKS + tl.arange(0, CHUNKS)
        at = chunk[:, None] * SKETCH + lane[None, :]
        real = at < weights
        sign = tl.load(signs + at, mask=real, other=0).to(tl.float32)
        total += tl.sum(sign * tl.load(means + row * weights + at, mask=real, other=0.0), 0)
    tl.store(found + (row * parts + part) * SKETCH + lane, total)


@triton.jit
def _together(found, sketches, parts, huge, SKETCH: tl.constexpr, CHUNKS: tl.constexpr):
    """The sum of a row's parts, in numbers."""
    row, lane = tl.program_id(0).to(tl.int64), tl.arange(0, SKETCH)
    total = tl.zeros((SKETCH,), dtype=tl.float32)
    for first in range(0, parts, CHUNKS):
        part = first + tl.arange(0, CHUNKS)
        at = (row * parts + part[:, None]) * SKETCH + lane[None, :]
        total += tl.sum(tl.load(found + at, mask=(part < parts)[:, None], other=0.0), 0)
    total = tl.where(total == total, tl.minimum(tl.maximum(total, -huge), huge), 0.0)
    tl.store(sketches + row * SKETCH + lane, total)


def sketch(means: Tensor, signs: Tensor, size: int, huge: float) -> Tensor:
    """Sums of every size-th weight, each with its sign, between -huge and huge; 0 for NaN. [row, size]"""
    rows, weights = means.shape
    parts = triton.cdiv(weights, size * CHUNKS * STEPS)
    found, sketches = means.new_empty(rows, parts, size), means.new_empty(rows, size)
    _parts[(rows, parts)](
        means.contiguous(), signs.contiguous(), found, weights, parts, SKETCH=size, CHUNKS=CHUNKS, STEPS=STEPS
    )
    _together[(rows,)](found, sketches, parts, huge, SKETCH=size, CHUNKS=CHUNKS)
    return sketches


@triton.jit
def _leaned(
    leaning, felt, base, own, theirs, longest, counts, places, new_leaning, new_felt, senders, keep, add,
    PLACES: tl.constexpr, SKETCH: tl.constexpr,
):  # fmt: skip
    """One receiver and one sender, itself the last."""
    row, sender, lane = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.arange(0, SKETCH)
    pair = row * (senders + 1) + sender
    counted = tl.load(counts + pair) != 0
    was = tl.load(base + row * SKETCH + lane)
    if sender == senders:
        said = tl.load(own + row * SKETCH + lane)
    else:
        message = sender.to(tl.int64)
        if PLACES:
            message = tl.load(places + row * senders + sender)
        said = tl.load(theirs + message * SKETCH + lane)
    push = said - was
    size = tl.sqrt(tl.sum(push * push, 0))
    push = push * tl.minimum(tl.load(longest + row) / tl.maximum(size, 1e-30), 1.0)
    old, told = tl.load(leaning + pair * SKETCH + lane), tl.load(felt + pair)
    tl.store(new_leaning + pair * SKETCH + lane, tl.where(counted, keep * old + add * push, old))
    tl.store(new_felt + pair, tl.where(counted, keep * told + add, told))


def lean(
    leaning: Tensor, felt: Tensor, sketches: tuple[Tensor, Tensor, Tensor], longest: Tensor, counts: Tensor,
    places: Tensor | None, keep: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Leanings and how many rounds are in them, one round later.

    sketches: of the beliefs before the round, as the receiver learned on, and as they were sent. counts: whose push is
    felt, the receiver's own the last. bool [receiver, sender + 1]. places: which message is whose, None for their order.
    """
    receivers, senders = counts.shape[0], counts.shape[1] - 1
    new_leaning, new_felt = torch.empty_like(leaning), torch.empty_like(felt)
    _leaned[(receivers, senders + 1)](
        leaning, felt, *sketches, longest.contiguous(), counts.contiguous().view(torch.uint8),
        felt if places is None else places.contiguous(), new_leaning, new_felt, senders, keep, 1 - keep,
        PLACES=places is not None, SKETCH=leaning.shape[2], num_warps=2,
    )  # fmt: skip
    return new_leaning, new_felt
