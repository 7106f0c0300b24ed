"""Inspection, products and pooling along edges, in C."""

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
    shape, runs = _runs(len(receiver), sent.shape[1])
    shared(native.inspect, runs, *pointers, *shape)
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


def each_pair(
    mean: Tensor, rho: Tensor, start: Tensor, means: Tensor, receiver: Tensor, sender: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Products of two ways from the start in the receiver's stds, of the sender's with itself, of the receiver's.

    mean, rho: [receiver, weight]; start: [weight]; means: [sender, weight]; receiver, sender: int64 [pair], ordered by
    receiver. float64 [pair] each
    """
    together, theirs, mine = _products(mean, mean, None, rho, start, means, receiver, sender).unbind(1)
    return together, theirs, mine


def pushes(
    course: Tensor, pull: Tensor, taken: Tensor, previous: Tensor, sent: Tensor, receiver: Tensor, sender: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Products of pushes with the course, or the pull where `taken` is not above 0, with the pull, and with themselves.

    course, pull, previous: [receiver, weight]; taken: float64 [receiver]; the rest as in `each_pair`.
    """
    along, squares, pulled = _products(course, pull, taken, None, previous, sent, receiver, sender).unbind(1)
    return along, pulled, squares


def _products(
    a: Tensor, b: Tensor, taken: Tensor | None, doubt: Tensor | None, base: Tensor, sent: Tensor, *pairs: Tensor
) -> Tensor:
    native = library()
    assert native is not None
    given = [None if value is None else value.contiguous() for value in (a, b, taken, doubt, base, sent, *pairs)]
    count = len(pairs[0])
    found = torch.empty(count, 3, dtype=torch.float64)
    pointers = (c_void_p(None if value is None else value.data_ptr()) for value in (*given, found))
    shape, runs = _runs(count, sent.shape[1])
    shared(native.products, runs, *pointers, *shape)
    return found


def _runs(pairs: int, weights: int) -> tuple[tuple[c_int64, c_int64, c_int64], int]:
    """Pairs, weights and how many pairs a thread takes at a time, as a kernel is told; and how often that is."""
    run = max(16, min(1024, -(-pairs // (4 * torch.get_num_threads()))))
    return (c_int64(pairs), c_int64(weights), c_int64(run)), -(-pairs // run)


def lead(course: Tensor, pull: Tensor, previous: Tensor, learned: Tensor, keep: float) -> tuple[Tensor, Tensor]:
    """The pull after a round's own push, and what it, the course and the push have in common.

    Returns:
        the pull. [receiver, weight]; products of the course with the pull, of the pull and of the course with
        themselves, of the push with the course, with itself and with the pull. float64 [receiver, 6]
    """
    native = library()
    assert native is not None
    given = [value.contiguous() for value in (course, pull, previous, learned)]
    pulled, found = torch.empty_like(given[1]), torch.empty(len(course), 6, dtype=torch.float64)
    pointers = (c_void_p(value.data_ptr()) for value in (*given, pulled, found))
    shape = (c_int64(size) for size in course.shape)
    shared(native.lead, len(course), *pointers, c_double(keep), *shape)
    return pulled, found


def repair(social: Tensor, local: Tensor, width: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
    """Means, with the local ones wherever an active receiver's leave its band, and how many these are.

    social, local, width: [receiver, weight]; active: bool [receiver].
    """
    native = library()
    assert native is not None
    given = [value.contiguous() for value in (social, local, width, active)]
    mean, count = torch.empty_like(given[0]), torch.empty(len(social), dtype=torch.int64)
    pointers = (c_void_p(value.data_ptr()) for value in (*given, mean, count))
    shared(native.repair, len(social), *pointers, *(c_int64(size) for size in social.shape))
    return mean, count


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
