"""Camps: do all that one hears differ as anybody differs from anybody, or are there two that pull apart?

Who learns a backdoor beside the task goes the same way as everybody, and in no round does its message look odd. But it
pushes for the backdoor in every round, and so do its accomplices, while what honest clients push for beyond the shared
task is each one's own. So every receiver remembers what each sender has been pushing for of late, its *leaning*, and
looks for two camps: such that all of one lean the same way as seen from the other. Which one is its own it knows by
where its own data push it. No majority is asked for.

Leanings are kept as sketches (Charikar, Chen and Farach-Colton, "Finding frequent items in data streams", 2002): signs
that only the receiver knows, and sums of every SKETCH-th weight. Products of sketches are those of the vectors, to
about 1 / sqrt(SKETCH) of their lengths.
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
ENOUGH = 0.4
"""How much of that there must be before a sender is looked at: 26 rounds."""
LEAST = 3
"""How many make a camp: what one or two have in common may be chance."""
STAY = 0.8
"""How much less alike camps may become before they come together again; else they would part and meet by turns."""
SQUARINGS = 4
"""How often the table of cosines is squared to find the axis along which senders differ most."""
FAR = 4.0
"""How many times as long as the receiver's own a leaning may be and count whole."""
HUGE = 1e15
"""Sums beyond count as that."""
PAIRS = 1 << 24
"""Numbers that are held at a time."""
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


def follow(
    before: Leanings,
    previous: Tensor,
    learned: Tensor,
    sent: Tensor,
    longest: Tensor,
    hears: Tensor,
    heard: Tensor,
    known: Tensor,
    places: Tensor | None = None,
    *,
    alike: float,
) -> Leanings:
    """What receivers remember after this round, and who is in another camp now.

    Whoever was trusted in the round before leans on the receiver, and so does, unheard, who is in another camp: once it
    leans as the others do it is heard again.

    Args:
        previous, learned, sent, longest, places: as in `lean`.
        hears: whose message came. heard: who was trusted in the round before. known: who may be in a camp at all.
            bool [receiver, sender]
        alike: the least mean cosine of leanings inside a camp, as seen from the other.
    """
    felt, company = hears & (heard | before.apart), heard.sum(1, keepdim=True) > 1  # oneself and somebody else
    if not before.seats.shape[1]:
        leaning, told = lean(before, previous, learned, sent, longest, felt, company, places)
        apart = other_camp(leaning, told, known, before.apart, alike)
        return before._replace(leaning=leaning, felt=told, apart=apart)
    seats = seated(before.seats, hears, felt)
    fresh = torch.nn.functional.pad(seats != before.seats, (0, 1))
    if fresh.any():
        before = before._replace(leaning=before.leaning.masked_fill(fresh[..., None], 0.0), felt=before.felt * ~fresh)
    taken, whose = seats >= 0, seats.clamp_min(0).long()

    def here(table: Tensor) -> Tensor:
        return table.gather(1, whose) & taken

    messages = whose if places is None else places.gather(1, whose)
    leaning, told = lean(before, previous, learned, sent, longest, here(felt), company, messages)
    receiver, seat = other_camp(leaning, told, here(known), here(before.apart), alike).nonzero().T
    apart = torch.zeros_like(before.apart)
    apart[receiver, whose[receiver, seat]] = True
    return before._replace(leaning=leaning, felt=told, apart=apart, seats=seats)


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
    drowns all others. Where few of very many hear each other, leanings are changed where they are: a copy of all would
    cost more than the rest of the round.

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
        leaning = before.leaning if before.leaning.numel() > PAIRS else before.leaning.clone()
        receiver, sender = counts.nonzero().T
        message = sender if places is None else torch.nn.functional.pad(places, (0, 1))[receiver, sender]
        itself = (sender == felt.shape[1])[:, None]
        said = torch.where(itself, own[receiver], theirs[torch.where(itself[:, 0], 0, message)])
        push = _shortened(said - base[receiver], longest[receiver, 0])
        leaning[receiver, sender] = MEMORY * leaning[receiver, sender] + (1 - MEMORY) * push
        return leaning, told
    heard = theirs.expand(len(base), -1, -1) if places is None else theirs[places]
    push = _shortened(torch.cat((heard, own[:, None]), 1) - base[:, None], longest)
    return keep[..., None] * before.leaning + add[..., None] * push, told


def _shortened(push: Tensor, longest: Tensor) -> Tensor:
    """Vectors, no longer than so much. longest: [...] for push: [..., SKETCH]"""
    scale: Tensor = (longest / push.norm(dim=-1).clamp_min(1e-30)).clamp_max(1.0)
    return push * scale[..., None]


def sketch(means: Tensor, signs: Tensor) -> Tensor:
    """Sums of every SKETCH-th weight, each with its sign. [row, weight] -> [row, SKETCH]"""
    signed = means * signs.to(means.dtype)
    whole = signed.shape[1] // SKETCH * SKETCH
    total = signed[:, :whole].view(len(means), -1, SKETCH).sum(1)
    total[:, : signed.shape[1] - whole] += signed[:, whole:]
    return total.nan_to_num(0.0).clamp(-HUGE, HUGE)


def other_camp(leaning: Tensor, felt: Tensor, known: Tensor, apart: Tensor, alike: float) -> Tensor:
    """Who is in the other camp, if there are two: if both are at least so much `alike`, or STAY times that where there
    were two in the round before. The rest as in `parted`.

    apart: who was in the other camp in the round before. bool [receiver, sender], and so is what is given back
    """
    theirs, together = parted(leaning, felt, known)
    return theirs & (together >= torch.where(apart.any(1), STAY * alike, alike))[:, None]


def parted(leaning: Tensor, felt: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
    """The best parting into the receiver's own camp and another, and how much alike the members of each are.

    Leanings count as at most FAR times as long as the receiver's own, so that one who leans far cannot hide all others.
    Camps are sought along the axis on which they differ most, and parted where that explains most of it. How much alike
    a camp is: the mean cosine over the pairs of its leanings, as seen from the middle of the other camp. (From the
    middle of k others, leanings that have nothing in common have a cosine of 1 / (k + 1).)

    Args:
        leaning, felt: as `lean` gives them.
        known: who is looked at. bool [receiver, sender]

    Returns:
        who is in the other camp, bool [receiver, sender]; the lesser likeness of the two camps, 0 where one of them has
        fewer than LEAST members. [receiver]
    """
    here = known & (felt[:, :-1] >= ENOUGH) & (felt[:, -1:] >= ENOUGH)
    if here.is_cuda and here.numel() <= cuda.DENSE:  # nothing that the host would have to wait for
        return _parted(leaning, felt, here)
    most = max(1, int(here.sum(1).max()))
    order = here.int().sort(dim=1, descending=True, stable=True).indices[:, :most]  # whoever is looked at comes first
    step = max(1, PAIRS // ((most + 1) * max(most + 1, leaning.shape[2])))
    theirs, together = torch.zeros_like(here), felt.new_zeros(len(felt), dtype=torch.float64)
    for first in range(0, len(leaning), step):
        tile = slice(first, first + step)
        columns = torch.cat((order[tile], torch.full_like(order[tile, :1], here.shape[1])), 1)
        rows = torch.arange(len(leaning), device=columns.device)[tile, None]
        found, together[tile] = _parted(leaning[rows, columns], felt[rows, columns], here[rows, columns[:, :-1]])
        theirs[tile] = theirs[tile].scatter(1, columns[:, :-1], found)
    return theirs, together


def _parted(leaning: Tensor, felt: Tensor, here: Tensor) -> tuple[Tensor, Tensor]:
    mean = leaning.double() / felt.double().clamp_min(1e-9)[..., None]
    length = mean.norm(dim=2, keepdim=True)
    mean = mean * (FAR * length[:, -1:] / length.clamp_min(1e-30)).clamp_max(1.0)
    products = mean @ mean.mT  # [receiver, sender + 1, sender + 1], the receiver's own last
    table = _cosines(_from(products, here))
    own = table[:, -1, :-1] * here
    table = table[:, :-1, :-1] * _pairs(here)
    axis = table
    for _ in range(SQUARINGS):
        axis = axis @ axis
    weights = axis @ own[..., None]  # of a sum of leanings along that axis, on the receiver's own side
    score, mine = (table @ weights)[..., 0], own[:, None] @ weights
    between, border = _border(score, here)
    theirs = here & (between > 0) & ((score > border) != (mine[..., 0] > border))
    camps = torch.stack((theirs, here & ~theirs))  # [camp, receiver, sender]
    together, size = _alike(products, camps, camps.flip(0)).amin(0), camps.sum(2).amin(0)
    return theirs, torch.where(size >= LEAST, together, 0.0)


def _border(score: Tensor, here: Tensor) -> tuple[Tensor, Tensor]:
    """Where numbers are parted best, no part being a single one: what that explains (0 for nothing), and the border.

    score, here: [row, sender]. [row, 1] twice
    """
    ordered = score.masked_fill(~here, torch.inf).sort(1).values
    ordered = ordered.masked_fill(ordered.isinf(), 0.0)
    below = torch.arange(1, score.shape[1] + 1, device=score.device).expand_as(score)
    above = here.sum(1, keepdim=True) - below
    sums, total = ordered.cumsum(1), ordered.sum(1, keepdim=True)
    between = (sums / below - (total - sums) / above.clamp_min(1)).square() * below * above
    best, at = between.masked_fill((below < 2) | (above < 2), 0.0).max(1, keepdim=True)
    return best, (ordered.gather(1, at) + ordered.gather(1, (at + 1).clamp_max(score.shape[1] - 1))) / 2


def _alike(products: Tensor, camp: Tensor, middle_of: Tensor) -> Tensor:
    """The mean cosine over the pairs of a camp, as seen from the middle of another. [..., receiver]"""
    table = _cosines(_from(products, middle_of))[..., :-1, :-1] * _pairs(camp)
    size = camp.sum(-1)
    return (table.sum((-2, -1)) - table.diagonal(dim1=-2, dim2=-1).sum(-1)) / (size * (size - 1)).clamp_min(1)


def _from(products: Tensor, camp: Tensor) -> Tensor:
    """Products of vectors, as those of their differences from the middle of some.

    camp: bool [..., receiver, vector but the last]
    """
    weights = camp.double() / camp.sum(-1, keepdim=True).clamp_min(1)
    there = (products[..., :-1] @ weights[..., None])[..., 0]  # products with the middle [..., receiver, vector]
    square = (there[..., :-1] * weights).sum(-1)
    return products - there[..., None] - there[..., None, :] + square[..., None, None]


def _cosines(products: Tensor) -> Tensor:
    """Products over lengths; next to 0 where a length is nothing beside the longest."""
    squares = products.diagonal(dim1=-2, dim2=-1)
    scale = torch.maximum(squares, 1e-10 * squares.amax(-1, keepdim=True)).clamp_min(1e-30).rsqrt()
    return products * scale[..., None] * scale[..., None, :]


def _pairs(camp: Tensor) -> Tensor:
    """Whose both ends are in a camp. bool [..., sender, sender]"""
    return camp[..., None] & camp[..., None, :]
