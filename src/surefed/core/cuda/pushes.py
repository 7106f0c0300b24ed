"""Pushes on a GPU: the products that core/pushes.py makes cosines of, all in one pass over the beliefs, and its tables.

The tables are small, but there are so many steps to them that the launches alone would take a tenth of a round.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

CLIENTS, BLOCK, STEPS, WARPS = 64, 32, 8, 8
"""Receivers and senders, weights at a time, how often, and warps of a program that looks at all pairs."""
LENGTH, LANES = 4096, 1024
"""Weights to a program that looks at one receiver, and how many at a time."""


@triton.jit
def _origin(before, at, real, receivers, weights):
    """Where three of the receivers were, in the middle: nobody far off decides how exactly all others are seen."""
    one = tl.load(before + at, mask=real, other=0.0)
    two = tl.load(before + tl.cast(receivers // 2, tl.int64) * weights + at, mask=real, other=0.0)
    three = tl.load(before + tl.cast(receivers - 1, tl.int64) * weights + at, mask=real, other=0.0)
    return tl.maximum(tl.minimum(one, two), tl.minimum(tl.maximum(one, two), three))


@triton.jit
def _alone(
    course, pull, before, after, fresh, sums, receivers, weights, parts, keep, LENGTH: tl.constexpr, LANES: tl.constexpr
):
    """One receiver and a part of the weights; where it was is seen from the origin."""
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    zero = tl.zeros((LANES,), dtype=tl.float32)
    course_own, pull_own, own_own, course_course, pull_pull, course_pull = zero, zero, zero, zero, zero, zero
    course_place, pull_place, place_place = zero, zero, zero
    for step in range(0, LENGTH, LANES):
        at = part * LENGTH + step + tl.arange(0, LANES)
        real = at < weights
        here = row * weights + at
        was = tl.load(before + here, mask=real, other=0.0)
        own = tl.load(after + here, mask=real, other=0.0) - was
        way = tl.load(course + here, mask=real, other=0.0)
        draw = keep * tl.load(pull + here, mask=real, other=0.0) + (1.0 - keep) * own
        tl.store(fresh + here, draw, mask=real)
        place = was - _origin(before, at, real, receivers, weights)
        course_own += way * own
        pull_own += draw * own
        own_own += own * own
        course_course += way * way
        pull_pull += draw * draw
        course_pull += way * draw
        course_place += way * place
        pull_place += draw * place
        place_place += place * place
    found, size = sums + row * parts + part, receivers * parts
    tl.store(found, tl.sum(course_own, 0))
    tl.store(found + size, tl.sum(pull_own, 0))
    tl.store(found + 2 * size, tl.sum(own_own, 0))
    tl.store(found + 3 * size, tl.sum(course_course, 0))
    tl.store(found + 4 * size, tl.sum(pull_pull, 0))
    tl.store(found + 5 * size, tl.sum(course_pull, 0))
    tl.store(found + 6 * size, tl.sum(course_place, 0))
    tl.store(found + 7 * size, tl.sum(pull_place, 0))
    tl.store(found + 8 * size, tl.sum(place_place, 0))


@triton.jit
def _pairs(
    course, pull, before, sent, sums, squares, receivers, senders, weights, parts,
    CLIENTS: tl.constexpr, BLOCK: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Some receivers, some senders and a part of the weights, all seen from the origin."""
    receiver = tl.program_id(1) * CLIENTS + tl.arange(0, CLIENTS)
    sender = tl.program_id(2) * CLIENTS + tl.arange(0, CLIENTS)
    along = tl.zeros((CLIENTS, CLIENTS), dtype=tl.float32)
    pulled = tl.zeros((CLIENTS, CLIENTS), dtype=tl.float32)
    between = tl.zeros((CLIENTS, CLIENTS), dtype=tl.float32)
    square = tl.zeros((CLIENTS, BLOCK), dtype=tl.float32)
    for step in range(STEPS):
        at = (tl.program_id(0) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        real = (receiver < receivers)[:, None] & (at < weights)[None, :]
        here = receiver.to(tl.int64)[:, None] * weights + at[None, :]
        there = (sender < senders)[:, None] & (at < weights)[None, :]
        sent_at = sender.to(tl.int64)[:, None] * weights + at[None, :]
        origin = _origin(before, at, at < weights, receivers, weights)[None, :]
        place = tl.where(real, tl.load(before + here, mask=real, other=0.0) - origin, 0.0)
        way = tl.load(course + here, mask=real, other=0.0)
        draw = tl.load(pull + here, mask=real, other=0.0)
        other = tl.where(there, tl.load(sent + sent_at, mask=there, other=0.0) - origin, 0.0)
        along = tl.dot(way, tl.trans(other), along, input_precision="tf32x3")
        pulled = tl.dot(draw, tl.trans(other), pulled, input_precision="tf32x3")
        between = tl.dot(place, tl.trans(other), between, input_precision="tf32x3")
        square += other * other
    pair = (receiver < receivers)[:, None] & (sender < senders)[None, :]
    size = tl.cast(receivers * senders, tl.int64)
    found = sums + tl.program_id(0) * size + receiver[:, None] * senders + sender[None, :]
    tl.store(found, along, mask=pair)
    tl.store(found + parts * size, pulled, mask=pair)
    tl.store(found + 2 * parts * size, between, mask=pair)
    first = (sender < senders) & (tl.program_id(1) == 0)
    tl.store(squares + tl.program_id(0) * senders + sender, tl.sum(square, 1), mask=first)


def products(
    course: Tensor, pull: Tensor, before: Tensor, after: Tensor, sent: Tensor, keep: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The pull after this round, and what pushes have in common with it, with the course and with themselves.

    pull: keep * pull + (1 - keep) * own, where own = after - before. [receiver, weight]
    pairs: of each sender's push (sent - before) with the course, the pull and itself. float64 [3, receiver, sender]
    alone: own with the course, the pull and itself; course with itself, pull with itself, both. float64 [6, receiver]

    course, pull, before, after: [receiver, weight]; sent: [sender, weight].
    """
    course, pull, before, after, sent = (value.contiguous() for value in (course, pull, before, after, sent))
    (receivers, weights), senders = before.shape, len(sent)
    fresh, parts = torch.empty_like(pull), triton.cdiv(weights, LENGTH)
    sums = pull.new_empty(9, receivers, parts)
    _alone[(receivers, parts)](
        course, pull, before, after, fresh, sums, receivers, weights, parts, keep, LENGTH=LENGTH, LANES=LANES
    )
    alone = sums.sum(2, dtype=torch.float64)
    parts = triton.cdiv(weights, BLOCK * STEPS)
    pairs, squares = pull.new_empty(3, parts, receivers, senders), pull.new_empty(parts, senders)
    _pairs[(parts, triton.cdiv(receivers, CLIENTS), triton.cdiv(senders, CLIENTS))](
        course, fresh, before, sent, pairs, squares, receivers, senders, weights, parts,
        CLIENTS=CLIENTS, BLOCK=BLOCK, STEPS=STEPS, num_warps=WARPS, num_stages=1,
    )  # fmt: skip
    along, pulled, between = pairs.sum(1, dtype=torch.float64)
    apart = alone[8, :, None] + squares.sum(0, dtype=torch.float64) - 2 * between
    return fresh, torch.stack((along - alone[6, :, None], pulled - alone[7, :, None], apart)), alone[:6]


@triton.jit
def _cosine(product, size):
    """0 where nothing moved, or numbers are too large to tell."""
    ratio = product / tl.where(size > 0, size, 1.0)
    bounded = tl.minimum(tl.maximum(ratio, -1.0), 1.0)
    return tl.where((size > 0) & (tl.abs(ratio) < float("inf")), bounded, 0.0).to(tl.float32)


@triton.jit
def _counted(length, longest, cosine, FAR: tl.constexpr, MOST: tl.constexpr):
    """How many times a push counts."""
    times = length / (FAR * longest)
    times = tl.where(tl.abs(times) < float("inf"), tl.minimum(tl.maximum(times, 1.0), MOST), 1.0)
    return tl.where(cosine < 0, times, 1.0)


@triton.jit
def _verdicts(
    pairs, alone, hears, fits, heard, known, longest, along, pulled, weight, seen, verdict,
    new_longest, new_along, new_pulled, new_weight, new_seen, new_verdict, is_lost,
    receivers, senders, least, against, ahead, adrift,
    MEMORY: tl.constexpr, SOON: tl.constexpr, ENOUGH: tl.constexpr, LONG: tl.constexpr, FULL: tl.constexpr,
    CLEAR: tl.constexpr, AGAIN: tl.constexpr, FAR: tl.constexpr, MOST: tl.constexpr, ALIKE: tl.constexpr,
    CLEARED: tl.constexpr, AGAINST: tl.constexpr, AHEAD: tl.constexpr, TURNS: tl.constexpr, SENDERS: tl.constexpr,
):  # fmt: skip
    """One receiver: what core/pushes.py says in words, step by step."""
    row = tl.program_id(0)
    sender = tl.arange(0, SENDERS)
    real = sender < senders
    here, size = row * senders + sender, receivers * senders
    mine = row * (senders + 1) + sender
    last = row * (senders + 1) + senders
    # the ways, and the receiver's own push
    course_pull = tl.load(alone + 5 * receivers + row)
    shared = course_pull > 0
    pull_size = tl.sqrt(tl.load(alone + 4 * receivers + row))
    course_size = tl.where(shared, tl.sqrt(tl.load(alone + 3 * receivers + row)), pull_size)
    own_pulled = tl.load(alone + receivers + row)
    own_along = tl.where(shared, tl.load(alone + row), own_pulled)
    own_size = tl.sqrt(tl.maximum(tl.load(alone + 2 * receivers + row), 0.0))
    own_cos, own_back = _cosine(own_along, own_size * course_size), _cosine(own_pulled, own_size * pull_size)
    own_length = own_size.to(tl.float32)
    longest_now = tl.maximum(MEMORY * tl.load(longest + row), own_length)
    own_count = _counted(own_length, longest_now, own_cos, FAR, MOST)
    # everybody else's
    back = tl.load(pairs + size + here, mask=real, other=0.0)
    forth = tl.where(shared, tl.load(pairs + here, mask=real, other=0.0), back)
    length = tl.sqrt(tl.maximum(tl.load(pairs + 2 * size + here, mask=real, other=0.0), 0.0))
    cosine, returning = _cosine(forth, length * course_size), _cosine(back, length * pull_size)
    count = _counted(length.to(tl.float32), longest_now, cosine, FAR, MOST)
    # the record, one round longer
    was_heard = tl.load(heard + here, mask=real, other=0) != 0
    fit = (tl.load(known + here, mask=real, other=0) != 0) & (tl.load(fits + here, mask=real, other=0) != 0)
    company = tl.sum(was_heard.to(tl.int32), 0) > 1
    weighed = (tl.load(hears + here, mask=real, other=0) != 0) & (was_heard | fit) & company
    keep, add = tl.where(weighed, MEMORY, 1.0), tl.where(weighed, 1.0 - MEMORY, 0.0)
    own_keep, own_add = tl.where(company, MEMORY, 1.0), tl.where(company, 1.0 - MEMORY, 0.0)
    a = keep * tl.load(along + mine, mask=real, other=0.0) + add * (count * cosine)
    p = keep * tl.load(pulled + mine, mask=real, other=0.0) + add * (count * returning)
    w = keep * tl.load(weight + mine, mask=real, other=0.0) + add * count
    n = keep * tl.load(seen + mine, mask=real, other=0.0) + add
    own_a = own_keep * tl.load(along + last) + own_add * (own_count * own_cos)
    own_p = own_keep * tl.load(pulled + last) + own_add * (own_count * own_back)
    own_w = own_keep * tl.load(weight + last) + own_add * own_count
    own_n = own_keep * tl.load(seen + last) + own_add
    told = tl.minimum(n, own_n)
    theirs = a / tl.maximum(w, 1e-9)
    own = own_a / tl.maximum(own_w, 1e-9) + tl.zeros_like(theirs)
    returns = p < 0
    # what follows from it
    before = tl.load(verdict + here, mask=real, other=AGAINST).to(tl.int32)
    cleared, open_ = real & (before == CLEARED), real & (before <= CLEARED)
    astray = tl.sum((real & (before == AHEAD)).to(tl.int32), 0) > 0
    fellows_there = tl.sum(cleared.to(tl.int32), 0)
    value = tl.where(cleared, theirs, float("inf"))
    lower = (value[None, :] < value[:, None]) | (
        (value[None, :] == value[:, None]) & (sender[None, :] < sender[:, None])
    )
    rank = tl.sum(lower.to(tl.int32), 1)
    middle = cleared & (rank == (fellows_there - 1) // 2)
    fellows = tl.sum(tl.where(middle, theirs, 0.0), 0) + tl.zeros_like(theirs)
    fellows = tl.where(fellows_there > 0, fellows, float("-inf"))
    usual = tl.maximum(tl.maximum(own, fellows), CLEAR * least)
    enough_told = told >= tl.where(astray, LONG, SOON)
    drives = open_ & enough_told & (theirs * told > ahead * tl.where(cleared, 2 * usual, usual))
    lost = tl.sum(drives.to(tl.int32), 0) > 0
    open_ = open_ & (lost == 0)
    elsewhere = (fellows > float("-inf")) & (fellows < 0)
    enough = open_ & (told >= ENOUGH) & (own >= least) & ~elsewhere
    sure = ~cleared | (own >= AGAIN * least)
    turned = enough & sure & (theirs < -against * tl.where(cleared, 2 * own, own)) & returns
    clear = enough & (own >= CLEAR * least)
    idle = clear & ~cleared & (told >= FULL) & (theirs < 0)
    taken = course_pull.to(tl.float32) + tl.zeros_like(theirs)
    dragged = taken < -adrift * longest_now * pull_size.to(tl.float32)
    hostile = open_ & dragged & (told >= FULL) & (theirs < -least) & returns
    if TURNS:
        hostile = hostile | turned | idle
    alike = (theirs * ALIKE >= own) & (theirs <= ALIKE * own)
    fair = clear & (told >= LONG) & alike & ~returns
    found = tl.where(fair, CLEARED, before)
    found = tl.where(drives, AHEAD, tl.where(hostile, AGAINST, found))
    tl.store(new_verdict + here, found.to(tl.uint8), mask=real)
    rest = tl.where(lost, 0.0, 1.0)
    tl.store(new_along + mine, a * rest, mask=real)
    tl.store(new_pulled + mine, p * rest, mask=real)
    tl.store(new_weight + mine, w * rest, mask=real)
    tl.store(new_seen + mine, n * rest, mask=real)
    tl.store(new_along + last, own_a * rest)
    tl.store(new_pulled + last, own_p * rest)
    tl.store(new_weight + last, own_w * rest)
    tl.store(new_seen + last, own_n * rest)
    tl.store(new_longest + row, longest_now)
    tl.store(is_lost + row, lost.to(tl.uint8))


def verdicts(
    pairs: Tensor,
    alone: Tensor,
    seen: tuple[Tensor, Tensor, Tensor, Tensor],
    tables: tuple[Tensor, ...],
    limits: tuple[float, float, float, float],
    terms: dict[str, float],
) -> tuple[Tensor, ...]:
    """The tables after this round, and who was led astray: longest, along, pulled, weight, seen, verdict, bool [receiver].

    pairs, alone: what `products` found. seen: bool [receiver, sender], who hears whom, what fits, who was heard, who is
    known. tables: as they are given back. limits: what counts as chance, against, ahead, adrift. terms: the constants
    of core/pushes.py by name. A limit of 0 is none.
    """
    given = [value.contiguous().view(torch.uint8) for value in seen]
    old = [value.contiguous() for value in tables]
    new = [torch.empty_like(value) for value in old]
    receivers, senders = given[0].shape
    least, against, *others = limits
    ahead, adrift = (limit or math.inf for limit in others)
    lost = torch.empty(receivers, dtype=torch.uint8, device=pairs.device)
    _verdicts[(receivers,)](
        pairs.contiguous(), alone.contiguous(), *given, *old, *new, lost, receivers, senders, least, against, ahead, adrift,
        **terms, TURNS=against > 0, SENDERS=triton.next_power_of_2(senders), num_warps=4,
    )  # fmt: skip
    return *new, lost.bool()
