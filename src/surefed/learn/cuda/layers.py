"""Layers of stacked networks, forward and backward, each row with weights of its own, read where they lie.

Images are [row, sample, channel, height, width] and contiguous; the weights of all rows are [row, weight], and a layer's
start at an offset. Convolutions are matrix products over patches that are never stored.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def convolve(
    images, weights, out, stride_row, weight_at, bias_at, batch,
    C: tl.constexpr, H: tl.constexpr, W: tl.constexpr, O: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    KH: tl.constexpr, KW: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    BIAS: tl.constexpr, RELU: tl.constexpr, BP: tl.constexpr, BK: tl.constexpr, BO: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """out[o, y, x] = bias[o] + sum over c, ky, kx of weight[o, c, ky, kx] * image[c, y * SH - PH + ky, ...]."""
    which = tl.program_id(0).to(tl.int64)  # row * batch + sample
    row = which // batch
    place = tl.program_id(1) * BP + tl.arange(0, BP)
    y, x = place // OW, place % OW
    o = tl.arange(0, BO)
    total = tl.zeros((BP, BO), dtype=tl.float32)
    K: tl.constexpr = C * KH * KW
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        c, rest = k // (KH * KW), k % (KH * KW)
        iy = y[:, None] * SH - PH + (rest // KW)[None, :]
        ix = x[:, None] * SW - PW + (rest % KW)[None, :]
        inside = (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W) & (k < K)[None, :] & (place < OH * OW)[:, None]
        patch = tl.load(images + which * (C * H * W) + c[None, :] * (H * W) + iy * W + ix, mask=inside, other=0.0)
        known = (k < K)[:, None] & (o < O)[None, :]
        kernel = tl.load(weights + row * stride_row + weight_at + o[None, :] * K + k[:, None], mask=known, other=0.0)
        total = tl.dot(patch, kernel, total, input_precision=PRECISION)
    if BIAS:
        total += tl.load(weights + row * stride_row + bias_at + o, mask=o < O, other=0.0)[None, :]
    if RELU:
        total = tl.maximum(total, 0.0)
    real = (place < OH * OW)[:, None] & (o < O)[None, :]
    tl.store(out + which * (O * OH * OW) + o[None, :] * (OH * OW) + place[:, None], total, mask=real)


@triton.jit
def convolve_back(
    slopes, weights, back, stride_row, weight_at, batch,
    C: tl.constexpr, H: tl.constexpr, W: tl.constexpr, O: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    KH: tl.constexpr, KW: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    BP: tl.constexpr, BO: tl.constexpr, BC: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The slope of the input: every pixel gathers from the outputs whose patches it lies in."""
    which = tl.program_id(0).to(tl.int64)
    row = which // batch
    place = tl.program_id(1) * BP + tl.arange(0, BP)
    y, x = place // W, place % W
    c, o = tl.arange(0, BC), tl.arange(0, BO)
    total = tl.zeros((BP, BC), dtype=tl.float32)
    known = (o < O)[:, None] & (c < C)[None, :]
    for tap in range(KH * KW):
        up, left = y + PH - tap // KW, x + PW - tap % KW
        oy, ox = up // SH, left // SW
        inside = (up >= 0) & (left >= 0) & (up % SH == 0) & (left % SW == 0) & (oy < OH) & (ox < OW) & (place < H * W)
        where = slopes + which * (O * OH * OW) + o[None, :] * (OH * OW) + (oy * OW + ox)[:, None]
        slope = tl.load(where, mask=inside[:, None] & (o < O)[None, :], other=0.0)
        kernel = weights + row * stride_row + weight_at + (o[:, None] * C + c[None, :]) * (KH * KW) + tap
        total = tl.dot(slope, tl.load(kernel, mask=known, other=0.0), total, input_precision=PRECISION)
    real = (place < H * W)[:, None] & (c < C)[None, :]
    tl.store(back + which * (C * H * W) + c[None, :] * (H * W) + place[:, None], total, mask=real)


@triton.jit
def convolve_slope(
    images, slopes, partial,
    C: tl.constexpr, H: tl.constexpr, W: tl.constexpr, O: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    KH: tl.constexpr, KW: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    BIAS: tl.constexpr, BP: tl.constexpr, BK: tl.constexpr, BO: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """What one sample adds to the slope of the weights and, behind them, of the bias, summed over all places."""
    which = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1) * BK + tl.arange(0, BK)
    o = tl.arange(0, BO)
    K: tl.constexpr = C * KH * KW
    SIZE: tl.constexpr = O * K + (O if BIAS else 0)
    c, rest = k // (KH * KW), k % (KH * KW)
    total = tl.zeros((BK, BO), dtype=tl.float32)
    sums = tl.zeros((BO,), dtype=tl.float32)
    for start in range(0, OH * OW, BP):
        place = start + tl.arange(0, BP)
        iy = (place // OW)[None, :] * SH - PH + (rest // KW)[:, None]
        ix = (place % OW)[None, :] * SW - PW + (rest % KW)[:, None]
        inside = (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W) & (k < K)[:, None] & (place < OH * OW)[None, :]
        patch = tl.load(images + which * (C * H * W) + c[:, None] * (H * W) + iy * W + ix, mask=inside, other=0.0)
        real = (place < OH * OW)[:, None] & (o < O)[None, :]
        slope = tl.load(slopes + which * (O * OH * OW) + o[None, :] * (OH * OW) + place[:, None], mask=real, other=0.0)
        total = tl.dot(patch, slope, total, input_precision=PRECISION)
        sums += tl.sum(slope, 0)
    known = (k < K)[:, None] & (o < O)[None, :]
    tl.store(partial + which * SIZE + o[None, :] * K + k[:, None], total, mask=known)
    if BIAS:
        tl.store(partial + which * SIZE + O * K + o, sums, mask=(o < O) & (tl.program_id(1) == 0))


@triton.jit
def maxpool(
    images, out, index, count, H: tl.constexpr, W: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    KH: tl.constexpr, KW: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The largest of each window, and which of the window it was, the first of equals."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    real = at < count
    plane, place = at // (OH * OW), at % (OH * OW)
    corner = plane * (H * W) + (place // OW) * KH * W + (place % OW) * KW
    top = tl.load(images + corner, mask=real, other=0.0)
    best = tl.zeros_like(at)
    for ky in tl.static_range(KH):
        for kx in tl.static_range(KW):
            value = tl.load(images + corner + ky * W + kx, mask=real, other=0.0)
            higher = (value > top) | (value != value)
            best = tl.where(higher, ky * KW + kx, best)
            top = tl.where(higher, value, top)
    tl.store(out + at, top, mask=real)
    tl.store(index + at, best.to(tl.int8), mask=real)


@triton.jit
def maxpool_back(
    slopes, index, images, back, count, H: tl.constexpr, W: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    KH: tl.constexpr, KW: tl.constexpr, RELU: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The slope of each pixel: its window's if it was the largest there; through the ReLU before it, if there is one."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    real = at < count
    plane, place = at // (H * W), at % (H * W)
    y, x = place // W, place % W
    oy, ox = y // KH, x // KW
    inside = real & (oy < OH) & (ox < OW)
    window = plane * (OH * OW) + oy * OW + ox
    chosen = tl.load(index + window, mask=inside, other=-1).to(tl.int64) == (y % KH) * KW + x % KW
    slope = tl.where(chosen & inside, tl.load(slopes + window, mask=inside, other=0.0), 0.0)
    if RELU:
        slope = tl.where(tl.load(images + at, mask=real, other=0.0) > 0, slope, 0.0)
    tl.store(back + at, slope, mask=real)
