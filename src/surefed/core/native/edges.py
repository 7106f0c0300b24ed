"""Inspection and pooling along edges, in C."""

from __future__ import annotations

from ctypes import c_double, c_int64, c_void_p

import torch
from torch import Tensor

from surefed.core.native.build import library
from surefed.core.native.threads import shared


def fits(*tensors: Tensor) -> bool:
    """Whether the kernels can work on these: float32 on a CPU that has a compiler."""
    plain = all(value.device.type == "cpu" and value.dtype == torch.float32 for value in tensors)
    return plain and library() is not None


def inspect(local: Tensor, width: Tensor, sent: Tensor, edges: Tensor) -> Tensor:
    """Which senders a receiver hears lie inside its band on every weight. bool [receiver, sender]

    local, width: [receiver, weight]; sent: [sender, weight]; edges: bool [receiver, sender].
    """
    native = library()
    assert native is not None
    local, width, sent = local.contiguous(), width.contiguous(), sent.contiguous()
    receiver, sender = (index.contiguous() for index in edges.nonzero().T)
    inside = torch.empty(len(receiver), dtype=torch.bool)
    pointers = (c_void_p(value.data_ptr()) for value in (local, width, sent, receiver, sender, inside))
    shared(native.inspect, len(receiver), *pointers, c_int64(len(receiver)), c_int64(sent.shape[1]))
    trusted = torch.zeros_like(edges)
    trusted[receiver, sender] = inside
    return trusted


def survey(local: Tensor, width: Tensor, std: Tensor, sent: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Excess, weights outside, the worst weight and its sigmas, as in core/trust.py. [receiver, sender] each"""
    native = library()
    assert native is not None
    given = [value.contiguous() for value in (local, width, std, sent)]
    shape = len(local), len(sent)
    excess, sigmas = torch.empty(shape), torch.empty(shape)
    outside, worst = torch.empty(shape, dtype=torch.int64), torch.empty(shape, dtype=torch.int64)
    pointers = (c_void_p(value.data_ptr()) for value in (*given, excess, outside, worst, sigmas))
    shared(native.survey, len(local), *pointers, *(c_int64(size) for size in (*shape, sent.shape[1])))
    return excess, outside, worst, sigmas


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
    native = library()
    assert native is not None
    mean, rho = mean.contiguous(), rho.contiguous()
    own_mean, own_rho = (value.contiguous() for value in otherwise)
    senders = trust.nonzero()[:, 1].contiguous()
    starts = torch.nn.functional.pad(trust.sum(1).cumsum(0), (1, 0))
    pooled = torch.empty_like(own_mean), torch.empty_like(own_rho)
    yard, floor, ceiling = (None, 0.0, 0.0) if within is None else (within[0].contiguous(), *within[1:])
    given = (mean, rho, own_mean, own_rho, yard, *pooled, starts, senders)
    pointers = (c_void_p(None if value is None else value.data_ptr()) for value in given)
    shape = (c_int64(size) for size in (len(trust), len(mean), mean.shape[1]))
    limits = (c_double(value) for value in (low, high, floor, ceiling))
    shared(native.pool, -(-mean.shape[1] // 128), *pointers, *shape, *limits)
    return pooled
