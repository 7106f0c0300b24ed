"""Convolutions that a square of places at a time goes through: a pooling window, or two by two pixels on the way back.

A weight is read once for all places of a square, and a pixel once for all that it adds to. After a convolution, a ReLU
and a pooling only one place of each window has a slope, and only if it is above zero; which it was is all that is kept.

Images are [row, sample, channel, height, width], with the border of zeros that the kernel needs already around them, in
any order in memory; threads that are neighbours have neighbouring samples, so these are best last. The strides of a row
of images are constants: IS, IC, IY and IX of what is read, OS, OC, OY and OX of what is written. The weights of all rows
are [row, weight], and a layer's start at an offset. A row has N samples of BH x BW squares of PH x PW places each; `index`
is [row, channel, square, sample].
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _squares(place, N: tl.constexpr, BH: tl.constexpr, BW: tl.constexpr):
    """The sample that a square belongs to, its line and its column; those past the last are the last.

    Neighbours are samples, as many as a warp has threads if there are more; then squares, which share pixels.
    """
    G: tl.constexpr = 32 if N % 32 == 0 else N
    place = tl.minimum(place, N * BH * BW - 1)
    sample, square = place // (G * BH * BW) * G + place % G, place // G % (BH * BW)
    return sample, square // BW, square % BW


@triton.jit
def _largest(totals, bias, Q: tl.constexpr):
    """The largest of every window once its bias is added, and which it was, the first of equals; -1 if not above 0."""
    top = totals[0] + bias
    best = tl.zeros(top.shape, dtype=tl.int32)
    for q in tl.static_range(1, Q):
        value = totals[q] + bias
        higher = (value > top) | (value != value)
        best = tl.where(higher, q, best)
        top = tl.where(higher, value, top)
    return tl.where(top < 0.0, 0.0, top), tl.where(top > 0.0, best, -1)  # what is no number stays none


@triton.jit
def _line(totals, kernel, pixels, y, known, IY: tl.constexpr, IX: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
          KH: tl.constexpr, KW: tl.constexpr, FLIP: tl.constexpr):  # fmt: skip
    """What line y of a kernel adds to the sums of every place of a square."""
    for x in tl.static_range(KW):
        tap = (KH - 1 - y) * KW + (KW - 1 - x) if FLIP else y * KW + x
        weight = tl.load(kernel + tap, mask=known, other=0.0)[:, None]
        more = ()
        for q in tl.static_range(PH * PW):
            pixel = tl.load(pixels + ((y + q // PW) * IY + (x + q % PW) * IX))
            more += (totals[q] + weight * pixel[None, :],)  # type: ignore[assignment]
        totals = more
    return totals


@triton.jit
def convolve(
    images, weights, out, index, stride_row, weight_at, bias_at, images_row, out_row,
    C: tl.constexpr, O: tl.constexpr, N: tl.constexpr, BH: tl.constexpr, BW: tl.constexpr, PH: tl.constexpr,
    PW: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, IS: tl.constexpr, IC: tl.constexpr, IY: tl.constexpr,
    IX: tl.constexpr, OS: tl.constexpr, OC: tl.constexpr, OY: tl.constexpr, OX: tl.constexpr, H: tl.constexpr,
    W: tl.constexpr, FLIP: tl.constexpr, POOL: tl.constexpr, BIAS: tl.constexpr, WHICH: tl.constexpr,
    BO: tl.constexpr, BP: tl.constexpr,
):  # fmt: skip
    """BP squares and BO channels of a row.

    POOL: through bias, ReLU and pooling, a value a square; which place it was goes to `index`. Else all places of the
    square that lie within H x W. FLIP: the way back, from slopes with as much border as a kernel needs to reach them:
    the weight is weight[c, o, KH - 1 - ky, KW - 1 - kx]. images_row, out_row: strides of rows.
    """
    B: tl.constexpr = (N * BH * BW + BP - 1) // BP
    row = (tl.program_id(0) // B).to(tl.int64)
    place = tl.program_id(0) % B * BP + tl.arange(0, BP)
    o = tl.program_id(1) * BO + tl.arange(0, BO)
    sample, line, column = _squares(place, N, BH, BW)
    T: tl.constexpr = KH * KW
    mine = weights + row * stride_row
    image = images + row * images_row + (sample * IS + line * (PH * IY) + column * (PW * IX))
    first = weight_at + (o * T if FLIP else o * (C * T))
    totals = (tl.zeros((BO, BP), dtype=tl.float32),) * (PH * PW)
    for c in range(C):
        kernel, pixels = mine + first + c * (O * T if FLIP else T), image + c * IC
        for y in tl.static_range(KH):  # written out, so that lines share the pixels they have in common
            totals = _line(totals, kernel, pixels, y, o < O, IY, IX, PH, PW, KH, KW, FLIP)
    real = (o < O)[:, None] & (place < N * BH * BW)[None, :]
    ours = out + row * out_row + (o[:, None] * OC + sample[None, :] * OS)
    if POOL:
        bias = tl.zeros((BO,), dtype=tl.float32)
        if BIAS:
            bias = tl.load(mine + bias_at + o, mask=o < O, other=0.0)
        top, best = _largest(totals, bias[:, None], PH * PW)
        tl.store(ours + (line * OY + column * OX)[None, :], top, mask=real)
        if WHICH:
            which = row * (O * BH * BW * N) + (
                o[:, None] * (BH * BW * N) + ((line * BW + column) * N + sample)[None, :]
            )
            tl.store(index + which, best.to(tl.int8), mask=real)
    else:
        for q in tl.static_range(PH * PW):
            y, x = line * PH + q // PW, column * PW + q % PW
            tl.store(ours + (y * OY + x * OX)[None, :], totals[q], mask=real & ((y < H) & (x < W))[None, :])


@triton.jit
def spread(
    slopes, index, out, slopes_row, count, O: tl.constexpr, N: tl.constexpr, BH: tl.constexpr, BW: tl.constexpr,
    PH: tl.constexpr, PW: tl.constexpr, IS: tl.constexpr, IC: tl.constexpr, IY: tl.constexpr, IX: tl.constexpr,
    H: tl.constexpr, W: tl.constexpr, TOP: tl.constexpr, LEFT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Slopes of windows where their largest place was, in images of H x W whose first place is at TOP, LEFT; else 0.

    out: [row, channel, height, width, sample]. count: how many numbers these are.
    """
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    row, here = at // (O * H * W * N), (at % (O * H * W * N)).to(tl.int32)
    sample, x, y, o = here % N, here // N % W - LEFT, here // (N * W) % H - TOP, here // (N * W * H)
    inside = (at < count) & (y >= 0) & (x >= 0) & (y < BH * PH) & (x < BW * PW)
    line, column = tl.where(inside, y // PH, 0), tl.where(inside, x // PW, 0)
    which = row * (O * BH * BW * N) + (((o * BH + line) * BW + column) * N + sample)
    mine = inside & (tl.load(index + which, mask=inside, other=-1) == (y % PH) * PW + x % PW)
    where = row * slopes_row + (sample * IS + o * IC + line * IY + column * IX)
    tl.store(out + at, tl.load(slopes + where, mask=mine, other=0.0), mask=at < count)


@triton.jit
def slope(
    images, slopes, index, out, stride_row, weight_at, bias_at, images_row, slopes_row,
    C: tl.constexpr, O: tl.constexpr, N: tl.constexpr, BH: tl.constexpr, BW: tl.constexpr, PH: tl.constexpr,
    PW: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, IS: tl.constexpr, IC: tl.constexpr, IY: tl.constexpr,
    IX: tl.constexpr, OS: tl.constexpr, OC: tl.constexpr, OY: tl.constexpr, OX: tl.constexpr, BIAS: tl.constexpr,
    BP: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """The slopes of BK weights of one channel and, once, of its bias: a place a window adds its patch, if any does.

    OS, OC, OY and OX are the strides of the slopes of what came out.
    """
    row, o = (tl.program_id(0) // O).to(tl.int64), tl.program_id(0) % O
    K: tl.constexpr = C * KH * KW
    k = tl.program_id(1) * BK + tl.arange(0, BK)
    tap = k % (KH * KW)
    offset = tl.where(k < K, k // (KH * KW) * IC + tap // KW * IY + tap % KW * IX, 0)
    image, ours = images + row * images_row, slopes + row * slopes_row
    which = index + row * (O * BH * BW * N) + o * (BH * BW * N)
    total = tl.zeros((BK, BP), dtype=tl.float32)
    sums = tl.zeros((BP,), dtype=tl.float32)
    for start in range(0, N * BH * BW, BP):
        place = start + tl.arange(0, BP)
        sample, line, column = _squares(place, N, BH, BW)
        spot = (line * BW + column) * N + sample
        best = tl.load(which + spot, mask=place < N * BH * BW, other=-1).to(tl.int32)
        one = tl.load(ours + (sample * OS + o * OC + line * OY + column * OX), mask=best >= 0, other=0.0)
        best = tl.maximum(best, 0)
        corner = sample * IS + (line * PH + best // PW) * IY + (column * PW + best % PW) * IX
        total += one[None, :] * tl.load(image + (offset[:, None] + corner[None, :]))
        sums += one
    mine = out + row * stride_row
    tl.store(mine + weight_at + o * K + k, tl.sum(total, 1), mask=k < K)
    if BIAS:
        tl.store(mine + bias_at + o, tl.sum(sums, 0), mask=tl.program_id(1) == 0)
