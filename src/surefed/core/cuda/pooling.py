"""Pooling on a GPU: of everybody where there are few clients, else along edges.

A precision is counted in units of the largest one there can be, so that no product overflows: p = (low / std)^2.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from surefed.core.cuda import DENSE
from surefed.core.cuda.edges import listed
from surefed.core.cuda.noise import softplus

RECEIVERS, TILE, WARPS, REGISTERS = 16, 128, 4, 128
"""Receivers, weights and warps of a program that sees everybody, and registers of a thread: more would leave few."""
EDGES, BLOCK = 4, 512
"""Senders at a time, and weights, of a program that goes along edges."""


@triton.jit
def _precision(mean, rho, where, real, low, high):
    """Precisions and means; 0 and 0 where a mean or a rho is no number."""
    m = tl.load(mean + where, mask=real, other=0.0)
    r = tl.load(rho + where, mask=real, other=0.0)
    sound = real & (tl.abs(m) < float("inf")) & (tl.abs(r) < float("inf"))
    ratio = low / tl.minimum(tl.maximum(softplus(r), low), high)
    return tl.where(sound, ratio * ratio, 0.0), tl.where(sound, m, 0.0)


@triton.jit
def _bounds(yard, where, real, low, high, floor, ceiling):
    """The least and the largest precision that receivers take a sender's for."""
    std = tl.minimum(tl.maximum(softplus(tl.load(yard + where, mask=real, other=0.0)), low), high)
    least, most = low / (ceiling * std), low / tl.maximum(floor * std, low)
    return least * least, most * most


@triton.jit
def _within(p, least, most):
    """A precision as it is read; what is no number stays 0."""
    return tl.where(p > 0, tl.minimum(tl.maximum(p, least), most), 0.0)


@triton.jit
def _rho_of(std):
    """log(exp(std) - 1) = std + log(1 - exp(-std)), by the series of 1 - exp(-std) where that is small."""
    series = 1.0 - std / 2.0 * (
        1.0 - std / 3.0 * (1.0 - std / 4.0 * (1.0 - std / 5.0 * (1.0 - std / 6.0 * (1.0 - std / 7.0))))
    )
    return std + tl.log(tl.where(std < 0.5, std * series, 1.0 - tl.exp(-std)))


@triton.jit
def _write(own_mean, own_rho, out_mean, out_rho, where, real, total, scaled, count, low):
    """The pooled belief, or one's own where nobody is trusted."""
    nobody = (count == 0) & real
    kept = tl.load(own_mean + where, mask=nobody, other=0.0)
    total = tl.where(total > 0, total, 1.0)
    tl.store(out_mean + where, tl.where(nobody, kept, scaled / total), mask=real)
    kept = tl.load(own_rho + where, mask=nobody, other=0.0)
    std = low * tl.sqrt(tl.maximum(count, 1.0) / total)
    tl.store(out_rho + where, tl.where(nobody, kept, _rho_of(std)), mask=real)


@triton.jit
def _from_all(
    mean, rho, trust, counts, own_mean, own_rho, yard, out_mean, out_rho, receivers, weights, low, high, floor, ceiling,
    stride, BOUNDED: tl.constexpr, SENDERS: tl.constexpr, RECEIVERS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Some receivers and a tile of the weights: every sender's precisions are made once for all of them.

    trust: float32 [sender, stride], a column for each receiver.
    """
    receiver = tl.program_id(1) * RECEIVERS + tl.arange(0, RECEIVERS)
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    total = tl.zeros((RECEIVERS, TILE), dtype=tl.float32)
    scaled = tl.zeros((RECEIVERS, TILE), dtype=tl.float32)
    real = (receiver < receivers)[:, None] & (at < weights)[None, :]
    where = receiver.to(tl.int64)[:, None] * weights + at[None, :]
    if BOUNDED:
        least, most = _bounds(yard, where, real, low, high, floor, ceiling)
    for sender in tl.range(0, SENDERS, loop_unroll_factor=4):
        p, m = _precision(mean, rho, tl.cast(sender, tl.int64) * weights + at, at < weights, low, high)
        believed = tl.load(trust + sender * stride + receiver)[:, None]
        if BOUNDED:
            read = believed * _within(p[None, :], least, most)
            total += read
            scaled += read * m[None, :]
        else:
            total += believed * p[None, :]
            scaled += believed * (p * m)[None, :]
    count = tl.load(counts + receiver)[:, None]
    _write(own_mean, own_rho, out_mean, out_rho, where, real, total, scaled, count, low)


@triton.jit
def _along_edges(
    mean, rho, starts, senders, own_mean, own_rho, yard, out_mean, out_rho, weights, low, high, floor, ceiling,
    BOUNDED: tl.constexpr, EDGES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    receiver = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    first, last = tl.load(starts + receiver), tl.load(starts + receiver + 1)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    scaled = tl.zeros((BLOCK,), dtype=tl.float32)
    where = receiver * weights + at
    if BOUNDED:
        least, most = _bounds(yard, where, at < weights, low, high, floor, ceiling)
    for start in range(first, last, EDGES):
        edge = start + tl.arange(0, EDGES)
        sender = tl.load(senders + edge, mask=edge < last, other=0)
        real = (edge < last)[:, None] & (at < weights)[None, :]
        p, m = _precision(mean, rho, sender[:, None] * weights + at[None, :], real, low, high)
        if BOUNDED:
            p = _within(p, least[None, :], most[None, :])
        total += tl.sum(p, 0)
        scaled += tl.sum(p * m, 0)
    count = tl.zeros((BLOCK,), dtype=tl.float32) + (last - first).to(tl.float32)
    _write(own_mean, own_rho, out_mean, out_rho, where, at < weights, total, scaled, count, low)


def pool(
    mean: Tensor,
    rho: Tensor,
    trust: Tensor,
    otherwise: tuple[Tensor, Tensor],
    low: float,
    high: float,
    within: tuple[Tensor, float, float] | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and rho of the pooled beliefs of whom each receiver trusts. [receiver, weight] each

    mean, rho: [sender, weight]; trust: bool [receiver, sender]; otherwise: mean and rho of who trusts nobody.
    within: the rho of each receiver's yardstick, and the floor and the ceiling of stds in units of it.
    """
    mean, rho = mean.contiguous(), rho.contiguous()
    own = tuple(value.contiguous() for value in otherwise)
    pooled = torch.empty_like(own[0]), torch.empty_like(own[1])
    (receivers, senders), weights = trust.shape, mean.shape[1]
    yard, floor, ceiling = (own[1], 0.0, 1.0) if within is None else (within[0].contiguous(), *within[1:])
    shape = {"BOUNDED": within is not None}
    if trust.numel() <= DENSE:
        stride = triton.cdiv(receivers, RECEIVERS) * RECEIVERS
        columns = torch.zeros(senders + 1, stride, device=mean.device)
        columns[:senders, :receivers] = trust.T
        torch.sum(columns[:senders], 0, out=columns[senders])
        grid = (triton.cdiv(weights, TILE), stride // RECEIVERS)
        _from_all[grid](
            mean, rho, columns, columns[senders], *own, yard, *pooled, receivers, weights, low, high, floor, ceiling,
            stride, **shape, SENDERS=senders, RECEIVERS=RECEIVERS, TILE=TILE, num_warps=WARPS, maxnreg=REGISTERS,
        )  # fmt: skip
        return pooled
    _, sender, starts = listed(trust)
    grid = (receivers, triton.cdiv(weights, BLOCK))
    _along_edges[grid](
        mean, rho, starts, sender, *own, yard, *pooled, weights, low, high, floor, ceiling,
        **shape, EDGES=EDGES, BLOCK=BLOCK,
    )  # fmt: skip
    return pooled
