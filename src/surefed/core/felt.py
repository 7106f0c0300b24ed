"""What pushes have in common with where beliefs go: their cosines with the course and with the pull, and their lengths.

A push is what was sent minus the receiver's social belief before the round; core/pushes.py judges by these.
"""

from __future__ import annotations

import torch
from torch import Tensor

from surefed.core import cuda, native
from surefed.core.heading import PAIRS, TILE, few

SHORT = 0.9
"""How much of the pull a round keeps."""
MANY = 1 << 16
"""Pairs up to which the kernels look at all: they keep some thousand numbers of each."""


def felt(
    course: Tensor, pull: Tensor, previous: Tensor, learned: Tensor, sent: Tensor, edges: Tensor
) -> tuple[Tensor, ...]:
    """The pull after this round, its length, and how far the course goes forth along it; then of every push the cosines
    with the course, or with the pull where the two are at odds, and with the pull, and its length.

    A cosine is 0 where nobody hears, nothing moved, or numbers are too large to tell.

    Args:
        course, pull: where the social belief has been going of late, and the receiver's own data have been pulling it,
            before this round. [receiver, weight]
        previous, learned: the social mean before and after this round's learning. [receiver, weight]
        sent: [sender, weight]. edges: bool [receiver, sender]

    Returns:
        float32 [receiver, weight], [receiver, 1] twice, then [receiver, sender + 1] three times, the own last.
    """
    sparse = few(edges)
    if not sparse and edges.numel() <= MANY and cuda.fits(course, pull, previous, learned, sent):
        from surefed.core.cuda.pushes import products  # here, because it needs Triton

        pull, pairs, alone = products(course, pull, previous, learned, sent, SHORT)
        pushed = torch.cat((pairs, alone[:3, :, None]), 2)  # [3, receiver, sender + 1]
        ways, taken = alone[3:5, :, None].sqrt(), alone[5, :, None]
        along, further = (torch.where(taken > 0, one[0], one[1]) for one in (pushed, ways))
        return pull, ways[1].float(), taken.float(), *_cosines((along, further), (pushed[1], ways[1]), pushed[2])
    if native.fits(course, pull, previous, learned, sent):
        return _by_kernel(course, pull, previous, learned, sent, edges if sparse else torch.ones_like(edges))
    pull = SHORT * pull + (1 - SHORT) * (learned - previous)
    taken = (course * pull).sum(1, keepdim=True)
    course = torch.where(taken > 0, course, pull)
    theirs = _of_some(course, pull, previous, sent, edges) if sparse else _of_all(course, pull, previous, sent)
    own = _of_pairs(course, pull, learned - previous)
    along, pulled, squares = (torch.cat((one, mine[:, None]), 1) for one, mine in zip(theirs, own, strict=True))
    far, further = (way.norm(dim=1, keepdim=True) for way in (pull, course))
    return pull, far, taken, *_cosines((along, further), (pulled, far), squares)


def _by_kernel(
    course: Tensor, pull: Tensor, previous: Tensor, learned: Tensor, sent: Tensor, edges: Tensor
) -> tuple[Tensor, ...]:
    """The same in C, of the pairs that hear each other; the others get 0."""
    pull, alone = native.lead(course, pull, previous, learned, SHORT)
    taken, far, usual = alone[:, :1], alone[:, 1:2].sqrt(), alone[:, 2:3].sqrt()
    receiver, sender = edges.nonzero().T
    found = []
    for one, mine in zip(
        native.pushes(course, pull, alone[:, 0], previous, sent, receiver, sender),
        (torch.where(taken > 0, alone[:, 3:4], alone[:, 5:6]), alone[:, 5:6], alone[:, 4:5]),
        strict=True,
    ):
        table = one.new_zeros(edges.shape)
        table[receiver, sender] = one
        found.append(torch.cat((table, mine), 1))
    along, pulled, squares = found
    further = torch.where(taken > 0, usual, far)
    return pull, far.float(), taken.float(), *_cosines((along, further), (pulled, far), squares)


def _cosines(along: tuple[Tensor, Tensor], pulled: tuple[Tensor, Tensor], squares: Tensor) -> tuple[Tensor, ...]:
    """Two cosines and the length of every push.

    along, pulled: products of the pushes with a way [receiver, push], and the way's length [receiver, 1].
    squares: products of the pushes with themselves. [receiver, push]
    """
    length = squares.clamp_min(0.0).sqrt()
    found = []
    for product, way in (along, pulled):
        size = length * way
        cosine = torch.where(size > 0, product / size.clamp_min(torch.finfo(size.dtype).tiny), 0.0)
        found.append(cosine.nan_to_num(0.0, 0.0, 0.0).clamp(-1.0, 1.0).float())
    return *found, length.float()


def _of_pairs(course: Tensor, pull: Tensor, push: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Products of a push a row with the course and the pull of the row, and with itself. [row] each"""
    return (course * push).sum(1), (pull * push).sum(1), push.square().sum(1)


def _of_all(course: Tensor, pull: Tensor, previous: Tensor, sent: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same of every receiver and sender, as products of matrices. [receiver, sender] each

    In float64, so that a receiver alone finds what it finds among others.
    """
    found = [torch.zeros(len(course), len(sent), dtype=torch.float64, device=sent.device) for _ in range(3)]
    for first in range(0, sent.shape[1], TILE):
        part = slice(first, first + TILE)
        before, theirs = previous[:, part].double(), sent[:, part].double()
        for total, mine in zip(found, (course, pull), strict=False):
            way = mine[:, part].double()
            total += way @ theirs.T - (way * before).sum(1, keepdim=True)
        squares = theirs.square().sum(1) + before.square().sum(1, keepdim=True)
        found[2] += squares - 2 * (before @ theirs.T)
    return found[0], found[1], found[2]


def _of_some(
    course: Tensor, pull: Tensor, previous: Tensor, sent: Tensor, edges: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The same of the pairs that hear each other, a bundle at a time."""
    found = [torch.zeros(edges.shape, device=sent.device) for _ in range(3)]
    receiver, sender = edges.nonzero().T
    size = max(1, (PAIRS if not sent.is_cuda else 32 * PAIRS) // max(1, sent.shape[1]))
    for at, of in zip(receiver.split(size), sender.split(size), strict=True):
        for total, one in zip(found, _of_pairs(course[at], pull[at], sent[of] - previous[at]), strict=True):
            total[at, of] = one.float()
    return found[0], found[1], found[2]
