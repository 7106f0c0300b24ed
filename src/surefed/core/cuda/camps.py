"""Camps on a GPU: what core/camps.py finds from the products of leanings, a receiver to a program.

The tables are small, but in torch some two hundred steps lead from one to the next, and each is a launch.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _total(values):
    """The sum of a vector, for all of it: Triton's interpreter cannot compare a single number."""
    return tl.sum(values, 0) + tl.zeros_like(values)


@triton.jit
def _middle(products, camp):
    """Products with the middle of some, and that of the middle with itself."""
    share = camp / tl.maximum(tl.sum(camp, 0), 1.0)
    there = tl.sum(products * share[None, :], 1)
    return there, tl.sum(there * share, 0)


@triton.jit
def _squares(products, lengths, camp):
    """Squared distances from the middle of some."""
    there, square = _middle(products, camp)
    return lengths - 2.0 * there + square


@triton.jit
def _cosines(products, lengths, camp, real):
    """Cosines as seen from the middle of some; next to 0 where a length is nothing beside the longest.

    real: what is a leaning, and no padding, which is far from a middle that is far from 0.
    """
    there, square = _middle(products, camp)
    squares = lengths - 2.0 * there + square
    longest = tl.max(tl.where(real, squares, 0.0), 0)
    scale = 1.0 / tl.sqrt(tl.maximum(tl.maximum(squares, 1e-10 * longest), 1e-30))
    return (products - there[:, None] - there[None, :] + square) * scale[:, None] * scale[None, :]


@triton.jit
def _alike(products, lengths, camp, other, one, real):
    """The mean cosine over the pairs of a camp, as seen from the middle of another."""
    table = _cosines(products, lengths, other, real) * camp[:, None] * camp[None, :]
    size = tl.sum(camp, 0)
    pairs = tl.where(one[:, None] == one[None, :], 0.0, table)
    return tl.sum(tl.sum(pairs, 1), 0) / tl.maximum(size * (size - 1.0), 1.0)


@triton.jit
def _most_reach(length, here, one):
    """The length that at least three quarters reach; 0 where there are none."""
    lower = (length[None, :] < length[:, None]) | ((length[None, :] == length[:, None]) & (one[None, :] < one[:, None]))
    rank = tl.sum(tl.where(lower, here[None, :], 0.0), 1).to(tl.int32)
    place = (_total(here).to(tl.int32) - 1) // 4
    return _total(tl.where((here > 0) & (rank == place), length, 0.0))


@triton.jit
def _border(score, here, one):
    """Where numbers are parted best, no part being a single one: what that explains (0 for nothing), and the border."""
    lower = (score[None, :] < score[:, None]) | ((score[None, :] == score[:, None]) & (one[None, :] <= one[:, None]))
    lower = lower & (here[None, :] > 0)
    below = tl.sum(lower.to(tl.float64), 1)
    sums = tl.sum(tl.where(lower, score[None, :], 0.0), 1)
    following = tl.min(tl.where(lower | (here[None, :] == 0), float("inf"), score[None, :]), 1)
    above = _total(here) - below
    rest = _total(score * here) - sums
    apart = sums / tl.maximum(below, 1.0) - rest / tl.maximum(above, 1.0)
    valid = (here > 0) & (below >= 2) & (above >= 2)
    between = tl.where(valid, apart * apart * below * above, 0.0)
    best = tl.max(between, 0) + tl.zeros_like(score)
    first = tl.min(tl.where(valid & (between == best), below, float("inf")), 0) + tl.zeros_like(score)
    chosen = valid & (below == first)
    return best, _total(tl.where(chosen, (score + following) / 2.0, 0.0))


@triton.jit
def _parted(
    products, felt, known, apart, is_theirs, is_together, is_far, senders,
    ENOUGH: tl.constexpr, LEAST: tl.constexpr, FAR: tl.constexpr, POWER: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """One receiver: what core/camps.py says in words, step by step. Its own leaning is the last."""
    row = tl.program_id(0).to(tl.int64)
    one = tl.arange(0, SIZE)
    own, real, sender = one == senders, one <= senders, one < senders
    full = tl.load(felt + row * (senders + 1) + one, mask=real, other=0.0)
    told = full >= ENOUGH
    ready = _total((own & told).to(tl.int32)) > 0
    seen = sender & told & (tl.load(known + row * senders + one, mask=sender, other=0) != 0) & ready
    here = tl.where(seen, 1.0, 0.0).to(tl.float64)
    # leanings, none too long
    at = (row * (senders + 1) + one[:, None]) * (senders + 1) + one[None, :]
    whole = tl.load(products + at, mask=real[:, None] & real[None, :], other=0.0)
    diagonal = one[:, None] == one[None, :]
    per_round = 1.0 / tl.maximum(full.to(tl.float64), 1e-9)
    length = tl.sqrt(tl.maximum(tl.sum(tl.where(diagonal, whole, 0.0), 1), 0.0)) * per_round
    usual = tl.maximum(_total(tl.where(own, length, 0.0)), _most_reach(length, here, one))
    scale = per_round * tl.minimum(FAR * usual / tl.maximum(length, 1e-30), 1.0)
    whole = whole * scale[:, None] * scale[None, :]
    lengths = tl.sum(tl.where(diagonal, whole, 0.0), 1)
    beside = tl.sum(tl.where(own[None, :], whole, 0.0), 1)
    # two sides of the axis on which they differ most
    table = _cosines(whole, lengths, here, real)
    score = tl.sum(tl.where(own[:, None], table, 0.0), 0) * here
    table = table * here[:, None] * here[None, :]
    for _ in range(POWER):
        score = tl.sum(table * score[None, :], 1)
    best, border = _border(score, here, one)
    side = tl.where(seen & (best > 0) & (score > border), 1.0, 0.0).to(tl.float64)
    # whose middle is nearer to the receiver, its own message aside
    away = tl.where(seen, lengths - 2.0 * beside, float("inf"))
    nearest = tl.min(tl.where(away == tl.min(away, 0) + tl.zeros_like(away), one, SIZE), 0)
    others = tl.where(one == nearest, 0.0, here)
    first, second = side * others, (here - side) * others
    to_first = _total(tl.where(own, _squares(whole, lengths, first), 0.0))
    to_second = _total(tl.where(own, _squares(whole, lengths, second), 0.0))
    theirs = tl.where(to_first < to_second, second, first) * tl.where(best > 0, 1.0, 0.0)
    ours = here - theirs
    them, us = _alike(whole, lengths, theirs, ours, one, real), _alike(whole, lengths, ours, theirs, one, real)
    size = tl.minimum(_total(theirs), _total(ours))
    # how far those are that were apart
    before = tl.load(apart + row * senders + one, mask=sender, other=0) != 0
    were, stayed = tl.where(before, here, 0.0), tl.where(before, 0.0, here)
    from_us, from_them = _squares(whole, lengths, stayed), _squares(whole, lengths, were)
    many = _total(stayed)
    fellows = many / tl.maximum(many - 1.0, 1.0)
    common = _total(from_us * stayed) / tl.maximum(many, 1.0) * fellows * fellows
    there = (were > 0) & (many >= LEAST) & (from_them < from_us)
    far = tl.where(there, from_us / tl.maximum(from_us + common, 1e-30), 0.0)
    tl.store(is_theirs + row * senders + one, (theirs > 0).to(tl.uint8), mask=sender)
    tl.store(is_together + row + one, tl.where(size >= LEAST, tl.minimum(them, us), 0.0), mask=one == 0)
    tl.store(is_far + row * senders + one, far, mask=sender)


def parted(
    leaning: Tensor, felt: Tensor, known: Tensor, apart: Tensor, terms: dict[str, float]
) -> tuple[Tensor, Tensor, Tensor]:
    """As core/camps.py has it. terms: its constants, and POWER, how often the table of cosines is multiplied."""
    receivers, senders = known.shape
    whole = leaning.double()
    theirs = torch.empty_like(known, dtype=torch.uint8)
    together, far = whole.new_empty(receivers), whole.new_empty(receivers, senders)
    size = triton.next_power_of_2(senders + 1)
    _parted[(receivers,)](
        whole @ whole.mT, felt.contiguous(), *(value.contiguous().view(torch.uint8) for value in (known, apart)),
        theirs, together, far, senders, **terms, SIZE=size, num_warps=8 if size < 64 else 16,
    )  # fmt: skip
    return theirs.bool(), together, far
