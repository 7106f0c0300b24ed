"""Camps: do all that one hears differ as anybody differs from anybody, or are there two that pull apart?

Who learns a backdoor beside the task goes the same way as everybody, and in no round does its message look odd. But it
pushes for the backdoor in every round, and so do its accomplices, while what honest clients push for beyond the shared
task is each one's own. So every receiver remembers what each sender has been pushing for of late, its *leaning*
(core/leanings.py), and looks for two camps: such that all of one lean the same way as seen from the other. Which one is
its own it knows by where its own data push it. No majority is asked for.
"""

from __future__ import annotations

import torch
from torch import Tensor

from surefed.core import cuda
from surefed.core.leanings import Leanings, lean, seated

ENOUGH = 0.4
"""How much of a leaning there must be before a sender is looked at: 26 rounds."""
LEAST = 3
"""How many make a camp: what one or two have in common may be chance."""
STAY = 0.8
"""How much less alike camps may become before they come together again; else they would part and meet by turns."""
SQUARINGS = 4
"""How often the table of cosines is squared to find the axis along which senders differ most."""
FAR = 4.0
"""How many times as long as is usual a leaning may be and count whole."""
PAIRS = 1 << 24
"""Numbers that are held at a time."""
TERMS = {"ENOUGH": ENOUGH, "LEAST": LEAST, "FAR": FAR, "POWER": 2**SQUARINGS + 1}
"""What the kernel must be told. A table squared so often, and once more for the score, is one to this power."""


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


def other_camp(leaning: Tensor, felt: Tensor, known: Tensor, apart: Tensor, alike: float) -> Tensor:
    """Who is in the other camp, if there are two: if both are at least so much `alike`, or STAY times that where there
    were two in the round before. The rest as in `parted`.

    Where there were two and no two are found, whoever was in the other one is judged alone: it stays there while it is
    nearer to that camp's middle than to ours, and so far from us that we are STAY times `alike` as seen from it. A camp
    that falls out among itself is not to be heard for that.

    apart: who was in the other camp in the round before. bool [receiver, sender], and so is what is given back
    """
    theirs, together, far = parted(leaning, felt, known, apart)
    two = together >= torch.where(apart.any(1), STAY * alike, alike)
    return torch.where(two[:, None], theirs, far >= STAY * alike)


def parted(leaning: Tensor, felt: Tensor, known: Tensor, apart: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The best parting into the receiver's own camp and another, and how much alike the members of each are.

    Leanings count as at most FAR times as long as is usual, so that one who leans far cannot hide all others. Usual is
    what most of them reach or, if that is longer, the receiver's own, which alone would not do: whose data have little
    more to teach hardly leans itself, and would see everybody's leanings cut to one length.

    Camps are sought along the axis on which they differ most, and parted where that explains most of it. The receiver's
    own is the one whose middle, its own message aside, is nearer to what it pushes for itself. How much alike a camp
    is: the mean cosine over the pairs of its leanings, as seen from the middle of the other camp. (From the middle of k
    others, leanings that have nothing in common have a cosine of 1 / (k + 1).)

    Args:
        leaning, felt: as `lean` gives them.
        known: who is looked at. apart: who was in the other camp in the round before. bool [receiver, sender]

    Returns:
        who is in the other camp, bool [receiver, sender]; the lesser likeness of the two camps, 0 where one of them has
        fewer than LEAST members [receiver]; how much alike those that were not apart are as seen from each that was,
        as `_how_far` has it. [receiver, sender]
    """
    if cuda.fits(leaning, felt) and known.shape[1] < cuda.SENDERS:
        from surefed.core.cuda.camps import parted as parted_there  # here, because it needs Triton

        return parted_there(leaning, felt, known, apart, TERMS)
    here = known & (felt[:, :-1] >= ENOUGH) & (felt[:, -1:] >= ENOUGH)
    if here.is_cuda and here.numel() <= cuda.DENSE:  # nothing that the host would have to wait for
        return _parted(leaning, felt, here, apart)
    most = max(1, int(here.sum(1).max()))
    order = here.int().sort(dim=1, descending=True, stable=True).indices[:, :most]  # whoever is looked at comes first
    step = max(1, PAIRS // ((most + 1) * max(most + 1, leaning.shape[2])))
    theirs, far = torch.zeros_like(here), torch.zeros_like(here, dtype=torch.float64)
    together = far.new_zeros(len(felt))
    for first in range(0, len(leaning), step):
        tile = slice(first, first + step)
        whose = order[tile]
        columns = torch.cat((whose, torch.full_like(whose[:, :1], here.shape[1])), 1)
        rows = torch.arange(len(leaning), device=columns.device)[tile, None]
        given = leaning[rows, columns], felt[rows, columns], here[rows, whose], apart[rows, whose]
        found, together[tile], away = _parted(*given)
        theirs[tile] = theirs[tile].scatter(1, whose, found)
        far[tile] = far[tile].scatter(1, whose, away)
    return theirs, together, far


def _parted(leaning: Tensor, felt: Tensor, here: Tensor, apart: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    mean = leaning.double() / felt.double().clamp_min(1e-9)[..., None]
    length = mean.norm(dim=2)
    usual = torch.maximum(length[:, -1:], _most_reach(length[:, :-1], here))
    mean = mean * (FAR * usual / length.clamp_min(1e-30)).clamp_max(1.0)[..., None]
    products = mean @ mean.mT  # [receiver, sender + 1, sender + 1], the receiver's own last
    theirs = _far_side(products, here)
    camps = torch.stack((theirs, here & ~theirs))  # [camp, receiver, sender]
    together, size = _alike(products, camps, camps.flip(0)).amin(0), camps.sum(2).amin(0)
    return theirs, torch.where(size >= LEAST, together, 0.0), _how_far(products, here & ~apart, here & apart)


def _how_far(products: Tensor, ours: Tensor, were: Tensor) -> Tensor:
    """How much alike `ours` are as seen from each that `were` apart, 0 where it is nearer to our middle than theirs.

    With s the distance of one of `ours` from the middle of its fellows, and d that from their middle: what d^2 / (d^2 +
    s^2) says, the mean cosine where fellows have nothing in common but the middle. 0 where they are fewer than LEAST.
    """
    from_us, from_them = (_squares(products, one)[:, :-1] for one in (ours, were))
    many = ours.sum(1, keepdim=True).double()
    of_fellows = (many / (many - 1).clamp_min(1)).square()  # how much farther than from the middle of all with oneself
    usual = (from_us * ours).sum(1, keepdim=True) / many.clamp_min(1) * of_fellows
    there = were & (many >= LEAST) & (from_them < from_us)
    return torch.where(there, from_us / (from_us + usual).clamp_min(1e-30), 0.0)


def _most_reach(length: Tensor, here: Tensor) -> Tensor:
    """The length that at least three quarters of those who are looked at reach. [receiver, 1]

    length, here: [receiver, sender]
    """
    ordered = length.masked_fill(~here, torch.inf).sort(1).values
    return ordered.gather(1, (here.sum(1, keepdim=True) - 1).clamp_min(0) // 4)


def _far_side(products: Tensor, here: Tensor) -> Tensor:
    """Who is on the other side than the receiver itself, once senders are parted along the axis they differ on most."""
    table = _cosines(_from(products, here))
    own = table[:, -1, :-1] * here
    table = table[:, :-1, :-1] * _pairs(here)
    axis = table
    for _ in range(SQUARINGS):
        axis = axis @ axis
    score = (table @ (axis @ own[..., None]))[..., 0]  # of a sum of leanings along that axis
    between, border = _border(score, here)
    side = here & (between > 0) & (score > border)
    lengths = products.diagonal(dim1=1, dim2=2)
    itself = (lengths - 2 * products[:, -1])[:, :-1].masked_fill(~here, torch.inf).argmin(1, keepdim=True)  # nearest
    others = here.scatter(1, itself, False)
    sides = torch.stack((side, here & ~side)) & others
    away, nearer = (_squares(products, one)[:, -1] for one in sides)
    theirs = torch.where((away < nearer)[:, None], sides[1], sides[0])
    return theirs & (between > 0)


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


def _squares(products: Tensor, camp: Tensor) -> Tensor:
    """Squared distances of vectors from the middle of some. [receiver, vector]; camp as in `_from`"""
    return _from(products, camp).diagonal(dim1=-2, dim2=-1)


def _cosines(products: Tensor) -> Tensor:
    """Products over lengths; next to 0 where a length is nothing beside the longest."""
    squares = products.diagonal(dim1=-2, dim2=-1)
    scale = torch.maximum(squares, 1e-10 * squares.amax(-1, keepdim=True)).clamp_min(1e-30).rsqrt()
    return products * scale[..., None] * scale[..., None, :]


def _pairs(camp: Tensor) -> Tensor:
    """Whose both ends are in a camp. bool [..., sender, sender]"""
    return camp[..., None] & camp[..., None, :]
