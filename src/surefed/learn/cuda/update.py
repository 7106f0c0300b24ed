"""The update of a belief and the draw of the next weights, in one pass over the arrays.

A program takes GROUPS groups of 256 weights of a row; the weights of a group share 64 counters of its noise.
"""

from __future__ import annotations

import triton
import triton.language as tl

from surefed.core.cuda.noise import pair, philox, softplus


@triton.jit
def _normals(k0, k1, counter, round, turn):
    """Four numbers for each counter."""
    zero = tl.zeros_like(counter)
    a, b, c, d = philox(counter, zero + turn.to(tl.uint32), zero + round.to(tl.uint32), k0, k1)
    n0, n1 = pair(a, b)
    n2, n3 = pair(c, d)
    return n0, n1, n2, n3


@triton.jit
def draw(mean, rho, drawn, centre, width, key0, key1, round_at, weights, GROUPS: tl.constexpr):
    """Begin a round: drawn = mean + std * eps, and the belief itself is the prior."""
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, 64)
    group = tl.program_id(1) * GROUPS + tl.arange(0, GROUPS)
    counter = (group[:, None] * 64 + lane[None, :]).to(tl.uint32)
    round = tl.load(round_at)
    k0, k1 = tl.load(key0 + row).to(tl.uint32), tl.load(key1 + row).to(tl.uint32)
    eps = _normals(k0, k1, counter, round, round * 0)
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
def update(
    slope, mean, rho, mean1, mean2, rho1, rho2, drawn, centre, width, key0, key1, paces, leasts, costs, finite, round_at,
    weights, turn, turns, a, b, c, rho_min, rho_max, steepest, fixed_std, FIXED: tl.constexpr,
    GROUPS: tl.constexpr,
):  # fmt: skip
    """One step of Adam on mean and rho with the closed-form gradients of learn/variational.py; then the next draw.

    paces, leasts, costs: [row, turn]. finite: whether a row's slope is a number. a, b, c: 1 - decay, and the decay of
    squares and what is left of it.
    """
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, 64)
    group = tl.program_id(1) * GROUPS + tl.arange(0, GROUPS)
    counter = (group[:, None] * 64 + lane[None, :]).to(tl.uint32)
    round = tl.load(round_at)
    k0, k1 = tl.load(key0 + row).to(tl.uint32), tl.load(key1 + row).to(tl.uint32)
    eps = _normals(k0, k1, counter, round, round * 0 + turn)
    following = _normals(k0, k1, counter, round, round * 0 + turn + 1)
    pace, least = tl.load(paces + row * turns + turn), tl.load(leasts + row * turns + turn)
    cost = tl.load(costs + row * turns + turn)
    good = tl.load(finite + row)
    for q in tl.static_range(4):
        at = group[:, None] * 256 + q * 64 + lane[None, :]
        real = at < weights
        here = row * weights + at
        g = tl.load(slope + here, mask=real, other=0.0)
        g = tl.where(good != 0, tl.minimum(tl.maximum(g, -steepest), steepest), 0.0)
        m, r = tl.load(mean + here, mask=real, other=0.0), tl.load(rho + here, mask=real, other=0.0)
        e = tl.exp(r)
        s = softplus(r)
        if FIXED:
            middle, w = tl.zeros_like(m), tl.zeros_like(m) + fixed_std
        else:
            middle, w = tl.load(centre + here, mask=real, other=0.0), tl.load(width + here, mask=real, other=1.0)
        stiff = cost / (w * w)
        by_mean = g + (m - middle) * stiff
        by_rho = (eps[q] * g + (s - w) * (s + w) * stiff / s) * (e / (1.0 + e))
        f = tl.load(mean1 + here, mask=real, other=0.0)
        f += (by_mean - f) * a
        v = tl.load(mean2 + here, mask=real, other=0.0) * b + by_mean * by_mean * c
        h = tl.load(rho1 + here, mask=real, other=0.0)
        h += (by_rho - h) * a
        u = tl.load(rho2 + here, mask=real, other=0.0) * b + by_rho * by_rho * c
        m -= f * pace / (tl.sqrt(v) + least)
        r = tl.minimum(tl.maximum(r - h * pace / (tl.sqrt(u) + least), rho_min), rho_max)
        tl.store(mean1 + here, f, mask=real)
        tl.store(mean2 + here, v, mask=real)
        tl.store(rho1 + here, h, mask=real)
        tl.store(rho2 + here, u, mask=real)
        tl.store(mean + here, m, mask=real)
        tl.store(rho + here, r, mask=real)
        if turn + 1 < turns:
            tl.store(drawn + here, m + softplus(r) * following[q], mask=real)
