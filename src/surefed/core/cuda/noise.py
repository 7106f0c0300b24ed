"""The random numbers of core/streams.py and the elementary functions they need, inside Triton kernels."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

TAU_OVER_WORD = tl.constexpr(6.283185307179586 / 4294967296.0)


@triton.jit
def philox(c0, c1, c2, k0, k1):
    """Philox4x32-10 of the counters (c0, c1, c2, 0), uint32 tensors."""
    c3 = tl.zeros_like(c0)
    for _ in tl.static_range(10):
        high0, low0 = tl.umulhi(c0, 0xD2511F53), c0 * 0xD2511F53
        high1, low1 = tl.umulhi(c2, 0xCD9E8D57), c2 * 0xCD9E8D57
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0 += 0x9E3779B9
        k1 += 0xBB67AE85
    return c0, c1, c2, c3


@triton.jit
def turn(angle):
    """Sine and cosine of an angle in [0, 2 pi], to about one ulp of 1."""
    quarter = tl.floor(angle * 0.636619772 + 0.5)
    n = quarter.to(tl.int32)
    r = angle - quarter * 1.5703125
    r = r - quarter * 4.837512969970703125e-4
    r = r - quarter * 7.549789948768648e-8
    z = r * r
    s = r + r * z * (-1.6666654611e-1 + z * (8.3321608736e-3 - z * 1.9515295891e-4))
    c = 1.0 - 0.5 * z + z * z * (4.166664568298827e-2 + z * (-1.388731625493765e-3 + z * 2.443315711809948e-5))
    odd = (n & 1) != 0
    a, b = tl.where(odd, c, s), tl.where(odd, s, c)
    return tl.where((n & 2) != 0, -a, a), tl.where(((n + 1) & 2) != 0, -b, b)


@triton.jit
def pair(one, other):
    """Two standard normal numbers of two words, by Box and Muller."""
    u = (one.to(tl.float32) + 0.5) * 2.3283064365386963e-10
    radius = tl.sqrt(tl.maximum(-2.0 * tl.log(u), 0.0))
    sine, cosine = turn(other.to(tl.float32) * TAU_OVER_WORD)
    return radius * cosine, radius * sine


@triton.jit
def log1p(x, s):
    """log(1 + x) = 2 atanh(s) for x in [0, 1], given s = x / (2 + x)."""
    z = s * s
    return 2.0 * s * (
        1.0 + z * (
            0.3333333333 + z * (0.2 + z * (0.1428571429 + z * (0.1111111111 + z * (0.0909090909 + z * 0.0769230769))))
        )
    )  # fmt: skip


@triton.jit
def softplus(rho):
    """log(1 + exp(rho)) = max(rho, 0) + log(1 + exp(-|rho|))."""
    x = tl.exp(-tl.abs(rho))
    return tl.maximum(rho, 0.0) + log1p(x, x / (2.0 + x))


@triton.jit
def softplus_and_slope(rho):
    """log(1 + exp(rho)) and its slope, 1 / (1 + exp(-rho)), with one division."""
    x = tl.exp(-tl.abs(rho))
    one, two = 1.0 + x, 2.0 + x
    inverse = 1.0 / (one * two)
    slope = tl.where(rho >= 0.0, 1.0, x) * (two * inverse)
    return tl.maximum(rho, 0.0) + log1p(x, x * one * inverse), slope


@triton.jit
def normals(k0, k1, counter, round, turn):
    """Four numbers for each counter."""
    zero = tl.zeros_like(counter)
    a, b, c, d = philox(counter, zero + turn.to(tl.uint32), zero + round.to(tl.uint32), k0, k1)
    n0, n1 = pair(a, b)
    n2, n3 = pair(c, d)
    return n0, n1, n2, n3


@triton.jit
def _bits(out, key0, key1, count, round_at, draw_at, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    counter = ((at // 256) * 64 + at % 64).to(tl.uint32)
    zero = tl.zeros_like(counter)
    k0, k1 = tl.load(key0 + row).to(tl.uint32), tl.load(key1 + row).to(tl.uint32)
    round, draw = tl.load(round_at).to(tl.uint32), tl.load(draw_at).to(tl.uint32)
    a, b, c, d = philox(counter, zero + draw, zero + round, k0, k1)
    word = (at // 64) % 4
    chosen = tl.where(word == 0, a, tl.where(word == 1, b, tl.where(word == 2, c, d)))
    tl.store(out + row * count + at, chosen.to(tl.int64), mask=at < count)


@triton.jit
def _normal(out, key0, key1, count, round_at, draw_at, GROUPS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, 64)
    group = tl.program_id(1) * GROUPS + tl.arange(0, GROUPS)
    counter = (group[:, None] * 64 + lane[None, :]).to(tl.uint32)
    k0, k1 = tl.load(key0 + row).to(tl.uint32), tl.load(key1 + row).to(tl.uint32)
    numbers = normals(k0, k1, counter, tl.load(round_at), tl.load(draw_at))
    for q in tl.static_range(4):
        at = group[:, None] * 256 + q * 64 + lane[None, :]
        tl.store(out + row * count + at, numbers[q], mask=at < count)


def there(number: int | Tensor, device: torch.device) -> Tensor:
    """A number that a kernel can read: a tensor as it is, anything else as one that is filled without waiting."""
    return number if isinstance(number, Tensor) else torch.full((1,), number, dtype=torch.int64, device=device)


def bits(keys: tuple[Tensor, Tensor], count: int, round: int | Tensor, draw: int) -> Tensor:
    """Uniform 32-bit integers, those of `Stream.bits`. int64 [owner, count]"""
    key0, key1 = (key.contiguous() for key in keys)
    out = torch.empty(len(key0), count, dtype=torch.int64, device=key0.device)
    where = there(round, out.device), there(draw, out.device)
    _bits[(len(key0), triton.cdiv(count, 256))](out, key0, key1, count, *where, BLOCK=256)
    return out


def normal(keys: tuple[Tensor, Tensor], count: int, round: int | Tensor, draw: int) -> Tensor:
    """Standard normal numbers, those of `Stream.normal` to rounding. float32 [owner, count]"""
    key0, key1 = (key.contiguous() for key in keys)
    out = torch.empty(len(key0), count, device=key0.device)
    where = there(round, out.device), there(draw, out.device)
    _normal[(len(key0), triton.cdiv(count, 512))](out, key0, key1, count, *where, GROUPS=2)
    return out
