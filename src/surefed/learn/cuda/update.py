"""The update of a belief and the draw of the next weights, in one pass over the arrays.

A program takes GROUPS groups of 256 weights of a row; the weights of a group share 64 counters of its noise.
"""

from __future__ import annotations

import triton
import triton.language as tl

from surefed.core.cuda.noise import normals, philox, softplus, softplus_and_slope


@triton.jit
def draw(mean, rho, drawn, centre, width, key0, key1, round_at, weights, GROUPS: tl.constexpr):
    """Begin a round: drawn = mean + std * eps, and the belief itself is the prior."""
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, 64)
    group = tl.program_id(1) * GROUPS + tl.arange(0, GROUPS)
    counter = (group[:, None] * 64 + lane[None, :]).to(tl.uint32)
    round = tl.load(round_at)
    k0, k1 = tl.load(key0 + row).to(tl.uint32), tl.load(key1 + row).to(tl.uint32)
    eps = normals(k0, k1, counter, round, round * 0)
    for q in tl.static_range(4):
        at = group[:, None] * 256 + q * 64 + lane[None, :]
        real = at < weights
        here = row * weights + at
        m = tl.load(mean + here, mask=real, other=0.0)
        s = softplus(tl.load(rho + here, mask=real, other=0.0))
        tl.store(drawn + here, m + s * eps[q], mask=real)
        tl.store(centre + here, m, mask=real)
        tl.store(width + here, s, mask=real)


@triton.jit
def descend(slope, sums, mean, moment, rate, momentum, steepest, WEIGHTS: tl.constexpr, BLOCK: tl.constexpr):
    """SGD with momentum; a row whose slopes do not sum to a number stands still but for its momentum."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    real = at < WEIGHTS
    here = row * WEIGHTS + at
    total = tl.load(sums + row)
    g, b = tl.load(slope + here, mask=real, other=0.0), tl.load(moment + here, mask=real, other=0.0)
    m = tl.load(mean + here, mask=real, other=0.0)
    g = tl.where(total - total == 0.0, tl.minimum(tl.maximum(g, -steepest), steepest), 0.0)
    b = momentum * b + g
    tl.store(moment + here, b, mask=real)
    tl.store(mean + here, m - rate * b, mask=real)


@triton.jit
def _read(slope, mean, rho, mean1, mean2, rho1, rho2, centre, width, here, real, fixed_std, FIXED: tl.constexpr):
    """All that is known of some weights, asked for before any of it is used."""
    g = tl.load(slope + here, mask=real, other=0.0)
    m, r = tl.load(mean + here, mask=real, other=0.0), tl.load(rho + here, mask=real, other=0.0)
    f, v = (
        tl.load(mean1 + here, mask=real, other=0.0).to(tl.float32),
        tl.load(mean2 + here, mask=real, other=0.0).to(tl.float32),
    )
    h, u = (
        tl.load(rho1 + here, mask=real, other=0.0).to(tl.float32),
        tl.load(rho2 + here, mask=real, other=0.0).to(tl.float32),
    )
    if FIXED:
        middle, w = tl.zeros_like(m), tl.zeros_like(m) + fixed_std
    else:
        middle, w = tl.load(centre + here, mask=real, other=0.0), tl.load(width + here, mask=real, other=1.0)
    return g, m, r, f, v, h, u, middle, w


@triton.jit
def _kept(value, dither, HALF: tl.constexpr):
    """A moment as it is stored: in bfloat16, rounded at random as learn/half.py does, or as it is."""
    if HALF:
        bits = value.to(tl.int32, bitcast=True) + dither
        value = (bits & -65536).to(tl.float32, bitcast=True).to(tl.bfloat16)
    return value


@triton.jit
def _step(
    g, m, r, f, v, h, u, middle, w, eps, following, word, mean, rho, mean1, mean2, rho1, rho2, drawn, here, real,
    pace, least, cost, good, more, a, b, c, rho_min, rho_max, steepest, HALF: tl.constexpr,
):  # fmt: skip
    """Adam on mean and rho of some weights, and the next draw."""
    g = tl.where(good, tl.minimum(tl.maximum(g, -steepest), steepest), 0.0)
    s, sigmoid = softplus_and_slope(r)
    stiff = cost / (w * w * s)  # divisions are dear, so three are two products more
    by_mean = g + (m - middle) * (stiff * s)
    by_rho = (eps * g + (s - w) * (s + w) * stiff) * sigmoid
    f += (by_mean - f) * a
    v = v * b + by_mean * by_mean * c
    h += (by_rho - h) * a
    u = u * b + by_rho * by_rho * c
    spread_mean, spread_rho = tl.sqrt(v) + least, tl.sqrt(u) + least
    stride = pace / (spread_mean * spread_rho)
    m -= f * (spread_rho * stride)
    r = tl.minimum(tl.maximum(r - h * (spread_mean * stride), rho_min), rho_max)
    high, low = (word >> 16).to(tl.int32), (word & 0xFFFF).to(tl.int32)
    tl.store(mean1 + here, _kept(f, high, HALF), mask=real)
    tl.store(mean2 + here, _kept(v, low, HALF), mask=real)
    tl.store(rho1 + here, _kept(h, high, HALF), mask=real)
    tl.store(rho2 + here, _kept(u, low, HALF), mask=real)
    tl.store(mean + here, m, mask=real)
    tl.store(rho + here, r, mask=real)
    if more:
        tl.store(drawn + here, m + softplus(r) * following, mask=real)


@triton.jit
def update(
    slope, mean, rho, mean1, mean2, rho1, rho2, drawn, centre, width, key0, key1, paces, leasts, costs,
    sums, round_at, turn, turns, a, b, c, rho_min, rho_max, steepest, fixed_std,
    WEIGHTS: tl.constexpr, FIXED: tl.constexpr, HALF: tl.constexpr, GROUPS: tl.constexpr,
    DITHER: tl.constexpr,
):  # fmt: skip
    """One step of Adam on mean and rho with the closed-form gradients of learn/variational.py; then the next draw.

    paces, leasts, costs: [row, turn]. sums: of a row's slopes, no number where one of them is none. a, b, c: 1 - decay,
    and the decay of squares and what is left of it.
    """
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, 64)
    group = tl.program_id(1) * GROUPS + tl.arange(0, GROUPS)
    at0 = group[:, None] * 256 + lane[None, :]
    at1, at2, at3 = at0 + 64, at0 + 128, at0 + 192
    real0, real1, real2, real3 = at0 < WEIGHTS, at1 < WEIGHTS, at2 < WEIGHTS, at3 < WEIGHTS
    here0 = row * WEIGHTS + at0
    here1, here2, here3 = here0 + 64, here0 + 128, here0 + 192
    told = (slope, mean, rho, mean1, mean2, rho1, rho2, centre, width)
    known0, known1 = _read(*told, here0, real0, fixed_std, FIXED), _read(*told, here1, real1, fixed_std, FIXED)
    known2, known3 = _read(*told, here2, real2, fixed_std, FIXED), _read(*told, here3, real3, fixed_std, FIXED)
    pace, least = tl.load(paces + row * turns + turn), tl.load(leasts + row * turns + turn)
    cost = tl.load(costs + row * turns + turn)
    good = tl.abs(tl.load(sums + row)) < float("inf")
    counter = (group[:, None] * 64 + lane[None, :]).to(tl.uint32)
    round = tl.load(round_at)
    k0, k1 = tl.load(key0 + row).to(tl.uint32), tl.load(key1 + row).to(tl.uint32)
    eps = normals(k0, k1, counter, round, round * 0 + turn)
    following = normals(k0, k1, counter, round, round * 0 + turn + 1)
    if HALF:
        zero = tl.zeros_like(counter)
        words = philox(counter, zero + (round * 0 + turn + DITHER).to(tl.uint32), zero + round.to(tl.uint32), k0, k1)
    else:
        words = (counter, counter, counter, counter)  # not looked at
    arrays = (mean, rho, mean1, mean2, rho1, rho2, drawn)
    numbers = (pace, least, cost, good, turn + 1 < turns, a, b, c, rho_min, rho_max, steepest)
    _step(*known0, eps[0], following[0], words[0], *arrays, here0, real0, *numbers, HALF)
    _step(*known1, eps[1], following[1], words[1], *arrays, here1, real1, *numbers, HALF)
    _step(*known2, eps[2], following[2], words[2], *arrays, here2, real2, *numbers, HALF)
    _step(*known3, eps[3], following[3], words[3], *arrays, here3, real3, *numbers, HALF)


@triton.jit
def bound(
    slope, given, slopes, sums, WEIGHTS: tl.constexpr, FIRST: tl.constexpr, LAST: tl.constexpr,
    IN: tl.constexpr, OUT: tl.constexpr, BATCH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A bound on the sum of a row's slopes, no number if one of them is none.

    All but those of one linear layer are summed; that layer's are bounded by what they are made of, which is far less
    to read.
    """
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, FIRST, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(slope + row * WEIGHTS + at, mask=at < FIRST, other=0.0)
    for start in range(LAST, WEIGHTS, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(slope + row * WEIGHTS + at, mask=at < WEIGHTS, other=0.0)
    whole = tl.sum(total, 0)
    for sample in range(BATCH):
        ins = tl.zeros((BLOCK,), dtype=tl.float32)
        for start in range(0, IN, BLOCK):
            at = start + tl.arange(0, BLOCK)
            ins += tl.abs(tl.load(given + (row * BATCH + sample) * IN + at, mask=at < IN, other=0.0))
        outs = tl.zeros((BLOCK,), dtype=tl.float32)
        for start in range(0, OUT, BLOCK):
            at = start + tl.arange(0, BLOCK)
            outs += tl.abs(tl.load(slopes + (row * BATCH + sample) * OUT + at, mask=at < OUT, other=0.0))
        whole += tl.sum(ins, 0) * tl.sum(outs, 0)
    tl.store(sums + row, whole)
