"""Group norms of stacked networks that torch differentiates, forward and backward in one pass each.

A program takes one group of one sample, whose numbers lie side by side: no row has to be moved beside another.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

MOST = 1 << 13
"""Numbers of a group that a program holds at most."""


@triton.jit
def _place(channels, size, PER: tl.constexpr, CHANNELS: tl.constexpr, PIXELS: tl.constexpr):
    """Where the numbers of this program's group lie, which of them there are, and its first channel of the row's."""
    which = tl.program_id(0).to(tl.int64)  # of all groups of all samples of all rows
    channel, pixel = tl.arange(0, CHANNELS), tl.arange(0, PIXELS)
    at = which * (PER * size) + (channel[:, None] * size + pixel[None, :])
    real = (channel < PER)[:, None] & (pixel < size)[None, :]
    first = (which % (channels // PER)) * PER
    return at, real, first, channel


@triton.jit
def _forward(
    values, weight, bias, out, means, scales, samples, channels, size, epsilon,
    PER: tl.constexpr, CHANNELS: tl.constexpr, PIXELS: tl.constexpr,
):  # fmt: skip
    at, real, first, channel = _place(channels, size, PER, CHANNELS, PIXELS)
    row = tl.program_id(0) // (samples * (channels // PER))
    x = tl.load(values + at, mask=real, other=0.0)
    count = tl.cast(PER * size, tl.float32)
    mean = tl.div_rn(tl.sum(tl.sum(x, 1), 0), count)
    apart = tl.where(real, x - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(tl.sum(apart * apart, 1), 0) / count + epsilon)
    own = row.to(tl.int64) * channels + first + channel
    w = tl.load(weight + own, mask=channel < PER, other=0.0)
    b = tl.load(bias + own, mask=channel < PER, other=0.0)
    tl.store(out + at, apart * scale * w[:, None] + b[:, None], mask=real)
    tl.store(means + tl.program_id(0), mean)
    tl.store(scales + tl.program_id(0), scale)


@triton.jit
def _backward(
    values, slopes, weight, means, scales, back, by_weight, by_bias, samples, channels, size,
    PER: tl.constexpr, CHANNELS: tl.constexpr, PIXELS: tl.constexpr,
):  # fmt: skip
    at, real, first, channel = _place(channels, size, PER, CHANNELS, PIXELS)
    row = tl.program_id(0) // (samples * (channels // PER))
    mean, scale = tl.load(means + tl.program_id(0)), tl.load(scales + tl.program_id(0))
    x = tl.load(values + at, mask=real, other=0.0)
    slope = tl.load(slopes + at, mask=real, other=0.0)
    normal = tl.where(real, (x - mean) * scale, 0.0)
    w = tl.load(weight + row.to(tl.int64) * channels + first + channel, mask=channel < PER, other=0.0)
    steep = slope * w[:, None]
    count = tl.cast(PER * size, tl.float32)
    middle = tl.sum(tl.sum(steep, 1), 0) / count
    along = tl.sum(tl.sum(steep * normal, 1), 0) / count
    # A group of one has no slope; a fused multiply-subtract would leave what rounding took off, times a scale of hundreds.
    tilt = tl.where(count > 1.0, (steep - middle - normal * along) * scale, 0.0)
    tl.store(back + at, tilt, mask=real)
    own = (tl.program_id(0).to(tl.int64) * PER) + channel  # [row, sample, channel]
    tl.store(by_weight + own, tl.sum(slope * normal, 1), mask=channel < PER)
    tl.store(by_bias + own, tl.sum(slope, 1), mask=channel < PER)


def knows(module: nn.GroupNorm, values: Tensor) -> bool:
    """Whether this is a norm of images with weights of its own, and its groups fit into a program."""
    if values.dim() != 5 or not module.affine:
        return False
    shape = _shape(module.num_channels // module.num_groups, values.shape[3:].numel())
    return shape["CHANNELS"] * shape["PIXELS"] <= MOST


def group_norm(values: Tensor, weight: Tensor, bias: Tensor, groups: int, epsilon: float) -> Tensor:
    """values: [row, sample, channel, height, width]; weight, bias: [row, channel]."""
    out: Tensor = _GroupNorm.apply(values, weight, bias, groups, epsilon)  # type: ignore[no-untyped-call]
    return out


def _shape(per: int, size: int) -> dict[str, int]:
    """What a program is made for: its channels and their pixels, and the powers of two that these fit in."""
    return {"PER": per, "CHANNELS": triton.next_power_of_2(per), "PIXELS": triton.next_power_of_2(size)}


class _GroupNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, bias: Tensor, groups: int, epsilon: float) -> Tensor:
        values, weight, bias = values.contiguous(), weight.contiguous(), bias.contiguous()
        rows, samples, channels = values.shape[:3]
        size, out = values.shape[3:].numel(), torch.empty_like(values)
        means, scales = (values.new_empty(rows * samples * groups) for _ in range(2))
        ctx.shape, ctx.sizes = _shape(channels // groups, size), (samples, channels, size)
        _forward[(len(means),)](values, weight, bias, out, means, scales, *ctx.sizes, epsilon, **ctx.shape)
        ctx.save_for_backward(values, weight, means, scales)
        return out

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        values, weight, means, scales = ctx.saved_tensors
        back = torch.empty_like(values)
        by_weight, by_bias = (values.new_empty(values.shape[:3]) for _ in range(2))
        _backward[(len(means),)](
            values, slope.contiguous(), weight, means, scales, back, by_weight, by_bias, *ctx.sizes, **ctx.shape
        )
        return back, by_weight.sum(1), by_bias.sum(1), None, None
