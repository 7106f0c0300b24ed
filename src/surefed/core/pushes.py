"""Track records: does what a sender sends push where the receiver's beliefs go, and where its own data pull them?

A push is what was sent minus the receiver's social belief before the round. One round says little about it. Over many,
whoever sends its updates turned round pushes against the course of those that learn, and whoever drags all others
pushes along the course far more than any data would. A push back that is longer than any honest one counts more than
once: one huge lie is not made good by many small truths. A push forth never does, or one huge truth would.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from surefed.core import camps, cuda, leanings
from surefed.core.felt import SHORT, felt

MEMORY = 0.98
"""How much of the course and of a record a round keeps: the last fifty rounds or so count."""
SOON, ENOUGH, LONG, FULL = 0.25, 0.4, 0.8, 0.98
"""How much of a record there must be before somebody is found ahead (15 rounds), is found against us (26), is cleared
(80), or has to push forth at least (194)."""
CHANCE = 6.0
"""Cosines below so many times what chance gives, 1 over the root of the number of weights, say nothing."""
CLEAR, AGAIN = 2.0, 4.0
"""How many times as much the receiver's own push must agree with its course before a sender is cleared, or is out for
pushing back a little, and before one that was cleared is found against us after all: once all is learned, pushes are
noise. The former is also the least that a push far ahead is compared with."""
FAR = 4.0
"""How many times as long as the longest of the receiver's own of late a push back may be and count once; longer ones
count accordingly more. The longest, because once all is learned an honest push may be fifty times as long as most."""
MOST = 50.0
"""What a push counts at most: as much as all others that are remembered."""
ALIKE = 2.0
"""How many times as much, or as little, as the receiver itself a sender may push forth to be cleared."""

CLEARED, AGAINST, AHEAD = 1, 2, 4
"""Verdicts; the last two are indices of FAULTS."""
APART = 5
"""An index of FAULTS as well: who is in another camp, for as long as it is."""

TERMS = {
    "MEMORY": MEMORY, "SOON": SOON, "ENOUGH": ENOUGH, "LONG": LONG, "FULL": FULL, "CLEAR": CLEAR, "AGAIN": AGAIN,
    "FAR": FAR, "MOST": MOST, "ALIKE": ALIKE, "CLEARED": CLEARED, "AGAINST": AGAINST, "AHEAD": AHEAD,
}  # fmt: skip
"""All of these that the kernel must be told."""


class Record(NamedTuple):
    """What receivers remember of the pushes they felt.

    course: where the social belief has been going of late. [receiver, weight]
    pull: where the receiver's own data have been pulling it. [receiver, weight]
    longest: how far these have pushed it in a round of late. [receiver, 1]
    along, pulled: sums of the cosines of pushes with the course and with the pull, each times what the push counts; the
        last column is the receiver's own push. [receiver, sender + 1]
    weight: sums of what they count. [receiver, sender + 1]
    seen: what these would be if every push counted once. [receiver, sender + 1]
    heard: who was trusted in the round before. bool [receiver, sender]
    known: who was ever trusted. bool [receiver, sender]
    verdict: 0 for none yet, CLEARED, AGAINST or AHEAD. uint8 [receiver, sender]
    signs, leaning, felt, apart, seats: what each sender has been pushing for, and who is in another camp
        (core/camps.py); the first two are empty where nobody looks for camps.
    """

    course: Tensor
    pull: Tensor
    longest: Tensor
    along: Tensor
    pulled: Tensor
    weight: Tensor
    seen: Tensor
    heard: Tensor
    known: Tensor
    verdict: Tensor
    signs: Tensor
    leaning: Tensor
    felt: Tensor
    apart: Tensor
    seats: Tensor

    @property
    def out(self) -> Tensor:
        """Who is not heard, and why, as an index of FAULTS; else 0. uint8 [receiver, sender]"""
        return torch.where(self.verdict > CLEARED, self.verdict, self.apart * APART).to(torch.uint8)


def begin(receivers: int, senders: int, weights: int, *, parts: bool = True) -> Record:
    """Nothing is known of anybody. parts: whether camps are looked for."""
    course, pull = (torch.zeros(receivers, weights) for _ in range(2))
    along, pulled, weight, seen = (torch.zeros(receivers, senders + 1) for _ in range(4))
    nobody = torch.zeros(receivers, senders, dtype=torch.bool)
    verdict = torch.zeros_like(nobody, dtype=torch.uint8)
    tables = (torch.zeros(receivers, 1), along, pulled, weight, seen, nobody, nobody.clone(), verdict)
    return Record(course, pull, *tables, *leanings.begin(receivers, senders, weights, parts=parts))


def keyed(record: Record, secret: int) -> Record:
    """The record of one that has not begun, with signs that only it knows: who knows them can hide from sketches."""
    return record._replace(signs=leanings.signs(len(record.signs), record.signs.shape[1], secret))


def weigh(
    record: Record,
    previous: Tensor,
    learned: Tensor,
    sent: Tensor,
    edges: Tensor,
    fit: Tensor,
    senders: Tensor | None = None,
    *,
    against: float,
    ahead: float,
    adrift: float = 0.0,
) -> Record:
    """The record after this round's pushes, and who is out for it.

    Senders are weighed that were trusted in the round before, or were once and would be now: the receiver's belief is a
    pool they are part of, and their push tells what they would change about it. The course counts unless the receiver's
    own data pull the other way; then the pull does. A sender is

    - AGAINST, and out for good, when it pushes back along the course more than `against` times as much as the receiver
      itself pushes forth, and pushes back along the pull as well; or when it pushes back at all and has not been
      cleared by the time its record is full, the receiver's own push being clear: who hears liars is behind, so that
      everybody, liars too, pushes it forth;
    - AHEAD, and out for good, when it pushes along the course more than `ahead` times as much as the receiver itself
      and as half of those that it has cleared; with a part of a record only, accordingly more. The course was then not
      the receiver's own: it begins anew, with all records. While the receiver finds back, everybody who was never led
      astray is far ahead of it, so the next one takes a long record;
    - CLEARED, when it pushes forth as the receiver does, from half to twice as much, and not back along the pull. From
      then on either verdict takes twice as much; to be against us, also that the receiver's own push is well along its
      course.

    Whoever hears many liars that were honest for long enough to be cleared is dragged back by them: its course runs
    against its pull, so that the pull counts. While a round takes it back along its pull by more than `adrift` times
    the longest of its own pushes of late, a sender with a full record that pushes back along the pull, and has long
    done so, is against us, cleared or not.

    While half of those that were cleared push back, the course is not shared, and nobody is cleared or found against
    us: all is learned, or the receiver is elsewhere, hearing liars that the others have parted with.

    Args:
        previous, learned: the social mean before and after this round's learning. [receiver, weight]
        sent: [message, weight]. edges: bool [receiver, message].
        fit: which messages pass all other tests. bool [receiver, message]
        senders: who sent each message, at most one of them to each receiver; None where message k is that of sender k.
            int64 [message]
        against, ahead, adrift: 0 for never.
    """
    small = edges.numel() <= cuda.DENSE and edges.shape[1] <= cuda.SENDERS
    if senders is None and small and cuda.fits(record.course, record.pull, previous, learned, sent):
        return _weigh_there(record, previous, learned, sent, edges, fit, (against, ahead, adrift))
    pull, far, taken, *ways, length = felt(record.course, record.pull, previous, learned, sent, edges)
    longest = torch.maximum(MEMORY * record.longest, length[:, -1:])
    counts = (length / (FAR * longest)).nan_to_num(1.0, 1.0).clamp(1.0, MOST)
    counts = torch.where(ways[0] < 0, counts, 1.0)
    terms = [*(counts * cosine for cosine in ways), counts]
    hears = edges
    if senders is not None:
        whose = _whose(senders, record)
        terms = [torch.cat(((one[:, :-1] * edges) @ whose, one[:, -1:]), 1) for one in terms]
        hears, fit = ((one.float() @ whose) > 0 for one in (edges, fit))
    company = record.heard.sum(1, keepdim=True) > 1  # oneself and somebody else
    weighed = torch.cat((hears & (record.heard | (record.known & fit)) & company, company), 1)
    keep, add = torch.where(weighed, MEMORY, 1.0), torch.where(weighed, 1 - MEMORY, 0.0)
    kept = zip((record.along, record.pulled, record.weight), terms, strict=True)
    along, pulled, weight = (keep * before + add * now for before, now in kept)
    seen = keep * record.seen + add
    told = torch.minimum(seen[:, :-1], seen[:, -1:])  # how much of a record there is
    theirs, own = (along / weight.clamp_min(1e-9)).split((along.shape[1] - 1, 1), 1)
    returns = pulled[:, :-1] < 0
    least, cleared = CHANCE / sent.shape[1] ** 0.5, record.verdict == CLEARED
    open_, sure = record.verdict <= CLEARED, ~cleared | (own >= AGAIN * least)
    astray = (record.verdict == AHEAD).any(1, keepdim=True)
    fellows = _median(theirs, cleared)
    usual = torch.maximum(own, fellows).clamp_min(CLEAR * least)
    limit = ahead * torch.where(cleared, 2 * usual, usual)
    drives = open_ & (told >= torch.where(astray, LONG, SOON)) & (theirs * told > limit) & (ahead > 0)
    lost = drives.any(1, keepdim=True)
    open_ &= ~lost
    elsewhere = cleared.any(1, keepdim=True) & (fellows < 0)
    enough = open_ & (told >= ENOUGH) & (own >= least) & ~elsewhere
    back = theirs < -against * torch.where(cleared, 2 * own, own)
    turned = enough & sure & back & returns
    clear = enough & (own >= CLEAR * least)
    idle = clear & ~cleared & (told >= FULL) & (theirs < 0)
    hostile = (turned | idle) & (against > 0)
    if adrift > 0:
        dragged = taken < -adrift * longest * far
        hostile |= open_ & dragged & (told >= FULL) & (theirs < -least) & returns
    alike = (theirs * ALIKE >= own) & (theirs <= ALIKE * own)
    fair = clear & (told >= LONG) & alike & ~returns
    verdict = torch.where(fair, CLEARED, record.verdict)
    verdict = torch.where(drives, AHEAD, torch.where(hostile, AGAINST, verdict)).to(torch.uint8)
    course = record.course
    if lost.is_cuda or lost.any():  # a GPU is not asked, for the host would have to wait
        course, along, pulled, weight, seen = (
            value.masked_fill(lost, 0.0) for value in (course, along, pulled, weight, seen)
        )
    return record._replace(
        course=course, pull=pull, longest=longest, along=along, pulled=pulled, weight=weight, seen=seen, verdict=verdict
    )


def _weigh_there(
    record: Record,
    previous: Tensor,
    learned: Tensor,
    sent: Tensor,
    edges: Tensor,
    fit: Tensor,
    limits: tuple[float, float, float],
) -> Record:
    """The same by two kernels."""
    from surefed.core.cuda.pushes import products, verdicts  # here, because it needs Triton

    pull, pairs, alone = products(record.course, record.pull, previous, learned, sent, SHORT)
    tables = (record.longest, record.along, record.pulled, record.weight, record.seen, record.verdict)
    told = (edges, fit, record.heard, record.known)
    found = verdicts(pairs, alone, told, tables, (CHANCE / sent.shape[1] ** 0.5, *limits), TERMS)
    longest, along, pulled, weight, seen, verdict, lost = found
    course = record.course.masked_fill(lost[:, None], 0.0)
    return record._replace(
        course=course, pull=pull, longest=longest, along=along, pulled=pulled, weight=weight, seen=seen, verdict=verdict
    )


def part(
    record: Record,
    previous: Tensor,
    learned: Tensor,
    sent: Tensor,
    edges: Tensor,
    senders: Tensor | None = None,
    *,
    alike: float,
) -> Record:
    """The record after this round's pushes, and who is in another camp (core/camps.py).

    Args:
        record: as `weigh` leaves it. The other arguments are those of `weigh`.
        alike: the least mean cosine of leanings inside a camp, as seen from the other.
    """
    hears, places = edges, None
    if senders is not None:
        whose = _whose(senders, record)
        hears = (edges.float() @ whose) > 0
        places = ((edges * torch.arange(len(sent), device=sent.device)).double() @ whose.double()).long()
    before = leanings.Leanings(*(getattr(record, name) for name in leanings.Leanings._fields))
    known = record.known & (record.verdict <= CLEARED)
    given = (previous, learned, sent, record.longest, hears, record.heard, known, places)
    return record._replace(**camps.follow(before, *given, alike=alike)._asdict())


def move_on(record: Record, previous: Tensor, social: Tensor, trusted: Tensor, senders: Tensor | None = None) -> Record:
    """The record once the round is judged: where the social belief went, and whose message was trusted."""
    course = torch.lerp(record.course, social - previous, 1 - MEMORY)
    heard = trusted if senders is None else (trusted.float() @ _whose(senders, record)) > 0
    return record._replace(course=course, heard=heard, known=record.known | heard)


def carried(record: Record, before: Sequence[object], now: Sequence[object]) -> Record:
    """The record with a column for each of the senders that there are now, by name; nothing is known of new ones."""
    old = {name: at for at, name in enumerate(before)}
    places = torch.tensor([old.get(name, len(before)) for name in now], device=record.verdict.device)

    def moved(table: Tensor) -> Tensor:
        known, own = table[:, : len(before)], table[:, len(before) :]
        blank = torch.zeros_like(table[:, :1])
        return torch.cat((torch.cat((known, blank), 1)[:, places], own), 1)

    tables = ("along", "pulled", "weight", "seen", "heard", "known", "verdict", "leaning", "felt", "apart")
    return record._replace(**{name: moved(getattr(record, name)) for name in tables})


def _median(values: Tensor, among: Tensor) -> Tensor:
    """Of the chosen values of each row, the lower one of two; -inf where none is. [row, 1]"""
    ordered = values.masked_fill(~among, torch.inf).sort(1).values
    count = among.sum(1, keepdim=True)
    middle = ordered.gather(1, ((count - 1) // 2).clamp_min(0))
    return torch.where(count > 0, middle, -torch.inf)


def _whose(senders: Tensor, record: Record) -> Tensor:
    """1 where a message is a sender's. [message, sender]"""
    return torch.nn.functional.one_hot(senders, record.heard.shape[1]).float()
