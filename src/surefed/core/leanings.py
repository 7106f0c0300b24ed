"""Leanings: what every sender has been pushing for of late, as a receiver remembers it.

They are kept as sketches (Charikar, Chen and Farach-Colton, "Finding frequent items in data streams", 2002): signs that
only the receiver knows, and sums of every SKETCH-th weight. Products of sketches are those of the vectors, to about
1 / sqrt(SKETCH) of their lengths. core/camps.py parts senders by them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from surefed.core import cuda
from surefed.core.heading import few

SKETCH = 256
"""How many numbers a leaning is kept in."""
MEMORY = 0.98
"""How much of a leaning a round keeps: the last fifty rounds or so count."""
HUGE = 1e15
"""Sums beyond count as that."""
LARGE = 1 << 24
"""Numbers beyond which leanings of few are changed where they are: a copy of all would cost more than the rest of the
round."""
ROOM, SEATS = 1 << 18, 128
"""How many leanings are kept in all, a kilobyte each, before receivers keep those of some senders only; and of how many
each keeps them at least. Up to 512 clients all have room."""


class Leanings(NamedTuple):
    """What receivers remember of what they were pushed for; a part of their record.

    signs: what sketches are made with, the same for all receivers that judge together. int8 [receiver, weight]
    leaning: sums of sketches of pushes; the last is the receiver's own. [receiver, seat + 1, SKETCH]
    felt: how many rounds are in them, as a share of all that count. [receiver, seat + 1]
    apart: who is in the other camp. bool [receiver, sender]
    seats: whose leaning is in which place, -1 for nobody's; empty where there is one for every sender, in their order.
        int32 [receiver, seat]
    """

    signs: Tensor
    leaning: Tensor
    felt: Tensor
    apart: Tensor
    seats: Tensor


def begin(receivers: int, senders: int, weights: int, *, parts: bool = True) -> Leanings:
    """Nothing is known of anybody. parts: whether anybody looks for camps; leanings are empty else."""
    places = min(senders, max(SEATS, ROOM // max(1, receivers)))
    leaning, felt = torch.zeros(receivers, places + 1, SKETCH if parts else 0), torch.zeros(receivers, places + 1)
    nobody = torch.zeros(receivers, senders, dtype=torch.bool)
    seats = torch.full((receivers, places if places < senders else 0), -1, dtype=torch.int32)
    return Leanings(signs(receivers, weights if parts else 0), leaning, felt, nobody, seats)


def signs(receivers: int, weights: int, secret: int = 0) -> Tensor:
    """Signs for sketches, the same for all receivers. int8 [receiver, weight]

    secret: what they are drawn from. Who knows them can lean where no sketch shows it, so a peer draws its own.
    """
    drawn = torch.randint(0, 2, (weights,), generator=torch.Generator().manual_seed(secret), dtype=torch.int8)
    return (2 * drawn - 1).expand(receivers, -1).clone()


def seated(seats: Tensor, hears: Tensor, felt: Tensor) -> Tensor:
    """Whose leaning is in which place, once those that lean now and have none have taken one, in their order.

    They take the places that are nobody's first, then those of senders that are not heard now, until there are none.

    Args:
        seats: int32 [receiver, seat]. hears, felt: bool [receiver, sender]
    """
    taken, whose = seats >= 0, seats.clamp_min(0).long()
    have = torch.zeros_like(felt)
    receiver, seat = taken.nonzero().T
    have[receiver, whose[receiver, seat]] = True
    wants = felt & ~have
    hold = torch.where(taken, 1 + hears.gather(1, whose).int(), 0)  # 0 for nobody's, 1 not heard, 2 stays
    order, free = hold.argsort(dim=1, stable=True), (hold < 2).sum(1, keepdim=True)
    turn = wants.cumsum(1) - 1
    receiver, sender = (wants & (turn < free)).nonzero().T
    found = seats.clone()
    found[receiver, order[receiver, turn[receiver, sender]]] = sender.int()
    return found


def lean(
    before: Leanings,
    previous: Tensor,
    learned: Tensor,
    sent: Tensor,
    longest: Tensor,
    felt: Tensor,
    company: Tensor,
    places: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Leanings and how many rounds are in them, after this round's pushes.

    A push longer than the longest of the receiver's own of late counts as one of that length, so that nobody's leaning
    drowns all others.

    Args:
        previous, learned: the social mean before and after this round's learning. [receiver, weight]
        sent: [message, weight].
        longest: the length of the longest of the receiver's own pushes of late. [receiver, 1]
        felt: whose push counts. bool [receiver, sender]
        company: who hears anybody but itself. bool [receiver, 1]
        places: which message each sender's is; None where message k is that of sender k. int64 [receiver, sender]
    """
    base, own, theirs = (sketch(means, before.signs[0]) for means in (previous, learned, sent))
    counts = torch.cat((felt & company, company), 1)
    keep, add = torch.where(counts, MEMORY, 1.0), torch.where(counts, 1 - MEMORY, 0.0)
    told = keep * before.felt + add
    if few(felt):  # only what changes is looked at
        leaning = before.leaning if before.leaning.numel() > LARGE else before.leaning.clone()
        receiver, sender = counts.nonzero().T
        message = sender if places is None else torch.nn.functional.pad(places, (0, 1))[receiver, sender]
        itself = (sender == felt.shape[1])[:, None]
        said = torch.where(itself, own[receiver], theirs[torch.where(itself[:, 0], 0, message)])
        push = _shortened(said - base[receiver], longest[receiver, 0])
        leaning[receiver, sender] = MEMORY * leaning[receiver, sender] + (1 - MEMORY) * push
        return leaning, told
    if cuda.fits(before.leaning, before.felt, base, longest):
        from surefed.core.cuda.leanings import lean as lean_there  # here, because it needs Triton

        return lean_there(before.leaning, before.felt, (base, own, theirs), longest, counts, places, MEMORY)
    heard = theirs.expand(len(base), -1, -1) if places is None else theirs[places]
    push = _shortened(torch.cat((heard, own[:, None]), 1) - base[:, None], longest)
    return keep[..., None] * before.leaning + add[..., None] * push, told


def _shortened(push: Tensor, longest: Tensor) -> Tensor:
    """Vectors, no longer than so much. longest: [...] for push: [..., SKETCH]"""
    scale: Tensor = (longest / push.norm(dim=-1).clamp_min(1e-30)).clamp_max(1.0)
    return push * scale[..., None]


def sketch(means: Tensor, signs: Tensor) -> Tensor:
    """Sums of every SKETCH-th weight, each with its sign. [row, weight] -> [row, SKETCH]"""
    if cuda.fits(means):
        from surefed.core.cuda.leanings import sketch as sketch_there  # here, because it needs Triton

        return sketch_there(means, signs, SKETCH, HUGE)
    signed = means * signs.to(means.dtype)
    whole = signed.shape[1] // SKETCH * SKETCH
    total = signed[:, :whole].view(len(means), -1, SKETCH).sum(1)
    total[:, : signed.shape[1] - whole] += signed[:, whole:]
    return total.nan_to_num(0.0).clamp(-HUGE, HUGE)
