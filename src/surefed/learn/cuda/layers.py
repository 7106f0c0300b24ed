"""Layers of stacked networks, forward and backward, each row with weights of its own, read where they lie.

Images are [row, sample, channel, height, width] and contiguous; the weights of all rows are [row, weight], and a layer's
start at an offset. Convolutions are matrix products over patches that are never stored; they are given images with the
border of zeros already around them, so that every place of a patch can be read, at corner + offset.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _offsets(k, K: tl.constexpr, H: tl.constexpr, W: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr):
    """Where inputs k of a patch (channel, row, column) lie from its corner; 0 for those past the last."""
    c, tap = k // (KH * KW), k % (KH * KW)
    return tl.where(k < K, c * (H * W) + (tap // KW) * W + tap % KW, 0)


@triton.jit
def _corners(place, W: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr):
    """Where the patches of places begin; those past the last read the last one's."""
    place = tl.minimum(place, OH * OW - 1)
    return (place // OW) * (SH * W) + (place % OW) * SW


@triton.jit
def convolve(
    images, weights, out, stride_row, weight_at, bias_at, batch, own,
    C: tl.constexpr, H: tl.constexpr, W: tl.constexpr, O: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    KH: tl.constexpr, KW: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    FLIP: tl.constexpr, BIAS: tl.constexpr, RELU: tl.constexpr, DIRECT: tl.constexpr,
    BP: tl.constexpr, BK: tl.constexpr, BO: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """out[o, y, x] = bias[o] + sum over c, ky, kx of weight[o, c, ky, kx] * image[c, y * SH + ky, x * SW + kx].

    own: how many images a row has for itself: all of its batch, or 0 where the rows share them.
    FLIP: the way back, from slopes with as much border as a kernel needs to reach them: the weight is
    weight[c, o, KH - 1 - ky, KW - 1 - kx].
    DIRECT: one pixel of every patch after the other, without tensor cores, which would have too few channels to fill.
    """
    which = tl.program_id(0).to(tl.int64)  # row * batch + sample
    row = which // batch
    place = tl.program_id(1) * BP + tl.arange(0, BP)
    corner = _corners(place, W, OH, OW, SH, SW)
    o = tl.arange(0, BO)
    total = tl.zeros((BO, BP), dtype=tl.float32)
    K: tl.constexpr = C * KH * KW
    T: tl.constexpr = KH * KW
    image = images + (row * own + which % batch) * (C * H * W)
    mine = weights + row * stride_row + weight_at
    if DIRECT:
        for c in range(C):
            for tap in tl.static_range(T):
                pixel = tl.load(image + (c * (H * W) + (tap // KW) * W + tap % KW) + corner)
                one = o * K + c * T + tap
                if FLIP:
                    one = o * T + (c * (O * T) + T - 1 - tap)
                total += tl.load(mine + one, mask=o < O, other=0.0)[:, None] * pixel[None, :]
    else:
        for start in range(0, K, BK):
            k = start + tl.arange(0, BK)
            patch = tl.load(image + (_offsets(k, K, H, W, KH, KW)[:, None] + corner[None, :]))
            at = o[:, None] * K + k[None, :]
            if FLIP:
                at = o[:, None] * T + ((k // T) * (O * T) + T - 1 - k % T)[None, :]
            kernel = tl.load(mine + at, mask=(o < O)[:, None] & (k < K)[None, :], other=0.0)
            total = tl.dot(kernel, patch, total, input_precision=PRECISION)
    if BIAS:
        total += tl.load(weights + row * stride_row + bias_at + o, mask=o < O, other=0.0)[:, None]
    if RELU:
        total = tl.where(total < 0.0, 0.0, total)  # what is no number stays none
    real = (o < O)[:, None] & (place < OH * OW)[None, :]
    tl.store(out + which * (O * OH * OW) + (o[:, None] * (OH * OW) + place[None, :]), total, mask=real)


@triton.jit
def convolve_slope(
    images, slopes, partial,
    C: tl.constexpr, H: tl.constexpr, W: tl.constexpr, O: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    KH: tl.constexpr, KW: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    BIAS: tl.constexpr, BP: tl.constexpr, BK: tl.constexpr, BO: tl.constexpr, PARTS: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """What one of PARTS parts of a sample adds to the slope of the weights and, behind them, of the bias."""
    piece = tl.program_id(0).to(tl.int64)
    which = piece // PARTS
    LENGTH: tl.constexpr = (OH * OW + PARTS * BP - 1) // (PARTS * BP) * BP
    K: tl.constexpr = C * KH * KW
    SIZE: tl.constexpr = O * K + (O if BIAS else 0)
    first = (piece % PARTS).to(tl.int32) * LENGTH
    k = tl.program_id(1) * BK + tl.arange(0, BK)
    o = tl.arange(0, BO)
    offset = _offsets(k, K, H, W, KH, KW)
    image, slopes_here = images + which * (C * H * W), slopes + which * (O * OH * OW)
    total = tl.zeros((BO, BK), dtype=tl.float32)
    sums = tl.zeros((BO, BP), dtype=tl.float32)
    for start in range(0, LENGTH, BP):
        place = first + start + tl.arange(0, BP)
        patch = tl.load(image + (offset[:, None] + _corners(place, W, OH, OW, SH, SW)[None, :]))
        real = (o < O)[:, None] & (place < OH * OW)[None, :]
        slope = tl.load(slopes_here + (o[:, None] * (OH * OW) + place[None, :]), mask=real, other=0.0)
        total = tl.dot(slope, tl.trans(patch), total, input_precision=PRECISION)
        sums += slope
    known = (o < O)[:, None] & (k < K)[None, :]
    tl.store(partial + piece * SIZE + (o[:, None] * K + k[None, :]), total, mask=known)
    if BIAS:
        tl.store(partial + piece * SIZE + O * K + o, tl.sum(sums, 1), mask=(o < O) & (tl.program_id(1) == 0))


@triton.jit
def linear(
    given, weights, out, stride_row, weight_at, bias_at, IN: tl.constexpr, OUT: tl.constexpr, BATCH: tl.constexpr,
    BIAS: tl.constexpr, RELU: tl.constexpr, BO: tl.constexpr, BI: tl.constexpr,
):  # fmt: skip
    """out[o] = bias[o] + sum over i of weight[o, i] * given[i], of all samples of a row, so a weight is read once."""
    row = tl.program_id(0).to(tl.int64)
    o = tl.program_id(1) * BO + tl.arange(0, BO)
    mine, ours = weights + row * stride_row, given + row * (BATCH * IN)
    totals = (tl.zeros((BO, BI), dtype=tl.float32),) * BATCH
    for start in range(0, IN, BI):
        i = start + tl.arange(0, BI)
        real = (o < OUT)[:, None] & (i < IN)[None, :]
        weight = tl.load(mine + weight_at + (o[:, None] * IN + i[None, :]), mask=real, other=0.0)
        more = ()
        for sample in tl.static_range(BATCH):
            value = tl.load(ours + (sample * IN + i), mask=i < IN, other=0.0)
            more += (totals[sample] + weight * value[None, :],)  # type: ignore[assignment]
        totals = more
    bias = tl.zeros((BO,), dtype=tl.float32)
    if BIAS:
        bias = tl.load(mine + bias_at + o, mask=o < OUT, other=0.0)
    for sample in tl.static_range(BATCH):
        total = tl.sum(totals[sample], 1) + bias
        if RELU:
            total = tl.where(total < 0.0, 0.0, total)
        tl.store(out + row * (BATCH * OUT) + (sample * OUT + o), total, mask=o < OUT)


@triton.jit
def linear_back(
    slopes, weights, back, stride_row, weight_at, IN: tl.constexpr, OUT: tl.constexpr, BATCH: tl.constexpr,
    BO: tl.constexpr, BI: tl.constexpr,
):  # fmt: skip
    """back[i] = sum over o of slopes[o] * weight[o, i], of all samples of a row."""
    row = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * BI + tl.arange(0, BI)
    mine, ours = weights + row * stride_row + weight_at, slopes + row * (BATCH * OUT)
    totals = (tl.zeros((BI,), dtype=tl.float32),) * BATCH
    for start in range(0, OUT, BO):
        o = start + tl.arange(0, BO)
        real = (o < OUT)[:, None] & (i < IN)[None, :]
        weight = tl.load(mine + (o[:, None] * IN + i[None, :]), mask=real, other=0.0)
        more = ()
        for sample in tl.static_range(BATCH):
            slope = tl.load(ours + (sample * OUT + o), mask=o < OUT, other=0.0)
            more += (totals[sample] + tl.sum(weight * slope[:, None], 0),)  # type: ignore[assignment]
        totals = more
    for sample in tl.static_range(BATCH):
        tl.store(back + row * (BATCH * IN) + (sample * IN + i), totals[sample], mask=i < IN)


@triton.jit
def outer(
    given, slopes, out, stride_row, weight_at, bias_at, IN: tl.constexpr, OUT: tl.constexpr, BATCH: tl.constexpr,
    BIAS: tl.constexpr, BO: tl.constexpr, BI: tl.constexpr,
):  # fmt: skip
    """The slopes of a linear layer's weights, out[o, i] = sum over samples of slopes[o] * given[i], and of its bias."""
    row = tl.program_id(0).to(tl.int64)
    o = tl.program_id(1) * BO + tl.arange(0, BO)
    i = tl.program_id(2) * BI + tl.arange(0, BI)
    total = tl.zeros((BO, BI), dtype=tl.float32)
    sums = tl.zeros((BO,), dtype=tl.float32)
    for sample in tl.static_range(BATCH):
        one = tl.load(slopes + row * (BATCH * OUT) + (sample * OUT + o), mask=o < OUT, other=0.0)
        other = tl.load(given + row * (BATCH * IN) + (sample * IN + i), mask=i < IN, other=0.0)
        total += one[:, None] * other[None, :]
        sums += one
    real = (o < OUT)[:, None] & (i < IN)[None, :]
    tl.store(out + row * stride_row + weight_at + (o[:, None] * IN + i[None, :]), total, mask=real)
    if BIAS:
        tl.store(out + row * stride_row + bias_at + o, sums, mask=(o < OUT) & (tl.program_id(2) == 0))


@triton.jit
def classify(scores, labels, out, batch, CLASSES: tl.constexpr, BC: tl.constexpr):
    """The slope of a sample's cross-entropy, a share of its minibatch's mean: (softmax(scores) - one-hot) / batch."""
    which = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BC)
    score = tl.load(scores + which * CLASSES + at, mask=at < CLASSES, other=float("-inf"))
    grown = tl.exp(score - tl.max(score, 0))
    right = tl.where(at == tl.load(labels + which), 1.0, 0.0)
    tl.store(out + which * CLASSES + at, (grown / tl.sum(grown, 0) - right) / batch, mask=at < CLASSES)


@triton.jit
def maxpool(
    images, out, index, count, H: tl.constexpr, W: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    KH: tl.constexpr, KW: tl.constexpr, WHICH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The largest of each window, and which of the window it was, the first of equals, where somebody will ask."""
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
    if WHICH:
        tl.store(index + at, best.to(tl.int8), mask=real)


@triton.jit
def maxpool_back(
    slopes, index, back, count, H: tl.constexpr, W: tl.constexpr, OH: tl.constexpr, OW: tl.constexpr,
    KH: tl.constexpr, KW: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The slope of each pixel: its window's if it was the largest there."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    real = at < count
    plane, place = at // (H * W), at % (H * W)
    y, x = place // W, place % W
    oy, ox = y // KH, x // KW
    inside = real & (oy < OH) & (ox < OW)
    window = plane * (OH * OW) + oy * OW + ox
    chosen = tl.load(index + window, mask=inside, other=-1).to(tl.int64) == (y % KH) * KW + x % KW
    slope = tl.where(chosen & inside, tl.load(slopes + window, mask=inside, other=0.0), 0.0)
    tl.store(back + at, slope, mask=real)
