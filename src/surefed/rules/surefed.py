"""SureFED: trust a sender that goes your way as far as your own doubt reaches, pool the trusted, look into yourself."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from surefed.core import (
    Belief,
    Record,
    Scope,
    band,
    confidence_set,
    headings,
    inside,
    introspect,
    measure,
    own_heading,
    pool,
    pool_within,
    pushes,
)
from surefed.rules.base import Inspection, Need, Nothing, Outcome, Receivers, Rule, equally_certain, stateless


def surefed(
    *,
    heading: float | Literal["off"] = 0.6,
    lowest: float = 0.25,
    against: float = 0.5,
    ahead: float = 3.0,
    adrift: float = 0.03,
    camps: float = 0.75,
    kappa: float | Literal["auto"] = 200.0,
    c: float = 0.8,
    per_layer: bool = False,
    band_std: float | None = None,
    agreement: float = 1.0,
    introspection: Literal["always", "while_local_learns", "first_rounds", "never"] = "always",
    introspection_rounds: int = 0,
    overwrite: Scope = "mean",
    std_floor: float = 1.0,
    std_ceiling: float = 2.0,
) -> Rule[Any]:
    """Pool the senders that go your way and lie inside your own band, then repair yourself (the paper's rule and more).

    The paper's test: sender j is trusted by receiver i when |local_mean_i - mean_j| <= kappa * local_std_i on a share
    `agreement` of the weights, 1.0 being every weight. Ours before it: j must also have gone the same way as i's local
    belief since the start that all share. In units of i's local std, the cosine of the two ways must reach `heading`
    times that of i's own social belief and, until j is first trusted, `lowest`. As long as nobody has learned anything,
    nobody has a heading, and everybody learns alone: liars are never pooled, not even at first. And every client keeps
    a record of what its senders would change about its social belief: who has pushed against its course, or has driven
    it as no data would, is not heard any more (core/pushes.py), nor is who pushes, with others, for something that the
    client's own side does not want (core/camps.py). The rule `paper` goes without all this.

    The client itself is inspected like any other sender. Where the pooled mean leaves the client's own band, the local
    mean is put back; where it goes the opposite way, or nowhere yet, the whole local belief is. Weights without
    posterior, such as BatchNorm's, are not inspected and are averaged over the trusted.

    Args:
        heading: how well a sender's heading must agree with the local one, as a share of how well the receiver's own
            social belief does; "off" looks at the band only, which is the paper, and keeps no record.
        lowest: the least agreement of headings that is enough to be heard for the first time, and below which the
            social belief of a client that is still alone is its local one.
        against: how hard, beside the receiver's own push forth, a sender may push back before it is not heard any
            more; 0 keeps hearing it.
        ahead: how hard, beside the receiver's own push and those of whom it has cleared, a sender may push forth; 0 for
            as hard as it likes.
        adrift: how far a client may be taken back along its own data's pull in a round, beside the longest of its own
            pushes of late, before all that have pushed back along the pull are not heard any more, even those that were
            cleared long ago; 0 for never. It is for a majority that is honest at first (docs/decisions.md).
        camps: how alike, as the mean cosine of what its members push for in the long run, each of two camps must be as
            seen from the other before the one that the receiver is not in is not heard, until they are less than 0.8
            times as much alike; 0 for never. It is for backdoors (core/camps.py).
        kappa: width of the band in local stds; the paper has 2, see docs/decisions.md for why ours differs. "auto":
            the band measures itself, every client and round anew: c times the largest disagreement, in local stds,
            of two beliefs that each learn from a half of the client's own data. It doubles the cost of learning.
        c: how much wider than that disagreement (kappa = "auto").
        per_layer: measure it for each layer by itself (kappa = "auto").
        band_std: one std for every weight instead of the local belief's, to see what uncertainty adds.
        agreement: share of the weights that must lie inside.
        introspection: when a client looks into itself; `first_rounds` means the first `introspection_rounds`.
        overwrite: what introspection puts back: `mean` (the violating weights' means, the paper's algorithm),
            `mean_and_std` (theirs too), or `whole_belief` (everything, once any weight violates; the paper's text).
        std_floor, std_ceiling: received stds are read as at least and at most so many times the receiver's local
            ones, so that nobody can claim a certainty that owns the pool, or spread a doubt that wrecks what everybody
            knows; 0 for neither, which is the paper.
    """
    if heading != "off" and not (0 <= heading <= 1 and -1 <= lowest <= 1):
        raise ValueError(f"heading must lie in [0, 1] and lowest in [-1, 1], not {heading} and {lowest}")
    if not (0 <= against < math.inf and 0 <= ahead < math.inf):
        raise ValueError(f"against and ahead must be finite and at least 0, not {against} and {ahead}")
    if not 0 <= adrift < 1:
        raise ValueError(f"adrift must lie in [0, 1), not {adrift}")
    if not 0 <= camps <= 1:
        raise ValueError(f"camps must lie in [0, 1], not {camps}")
    if kappa != "auto" and not kappa >= 0:
        raise ValueError(f"kappa must not be negative or NaN, and {kappa} is")
    if not 0 < agreement <= 1:
        raise ValueError(f"agreement must lie in (0, 1], not {agreement}")
    if introspection == "first_rounds" and introspection_rounds < 1:
        raise ValueError('introspection = "first_rounds" needs introspection_rounds, how many they are')
    if not c > 0 or (band_std is not None and not band_std > 0):
        raise ValueError("c and band_std must be positive")
    if not 0 <= std_floor <= 1 or not (std_ceiling == 0 or 1 <= std_ceiling < math.inf):
        raise ValueError(
            "std_floor must lie in [0, 1] and std_ceiling must be finite and at least 1, the local std being 1, or 0 "
            f"for none, not {std_floor} and {std_ceiling}"
        )
    if per_layer and kappa != "auto":
        raise ValueError('per_layer belongs to kappa = "auto"')
    bounded = std_floor > 0 or std_ceiling > 0
    remembers = heading != "off" and (against > 0 or ahead > 0 or adrift > 0 or camps > 0)

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Any) -> Outcome[Any]:
        assert at.local is not None
        assert at.local_learns is not None
        local = at.local if band_std is None else Belief.constant(at.local.mean, band_std)
        if at.certain is not None:  # nothing is outside of an infinite doubt
            local = Belief(local.mean, local.rho.masked_fill(at.certain, torch.inf))
            sent = equally_certain(sent, at.certain)
        width = band(local, disagreement(at, local, c, per_layer) if kappa == "auto" else kappa)
        if at.certain is not None:
            width = width.masked_fill(at.certain, torch.inf)
        record, keeps = state, kept_of(state, at, sent)
        if keeps:
            out, known = (by_message(one, at.senders) for one in (record.out, record.known))
        else:
            out, known = torch.zeros_like(edges, dtype=torch.uint8), torch.zeros_like(edges)
        going, same_way = None, edges & (out == 0)
        if heading != "off":
            assert at.start is not None
            going, own = headings(local, at.start, sent.mean, edges), own_heading(local, at.start, at.social.mean)
            same_way &= (going >= (heading * own)[:, None]) & (known | (going >= lowest))
        distances = None
        if at.detail or agreement < 1:
            distances = measure(local, width, sent.mean, detail=True, edges=edges)
            fit = confidence_set(distances, same_way, sent.weights, agreement)
        else:
            fit = inside(local, width, sent.mean, same_way)
        if keeps:
            assert at.previous is not None
            before, after = at.previous.mean, at.social.mean
            limits = {"against": against, "ahead": ahead, "adrift": adrift}
            record = pushes.weigh(record, before, after, sent.mean, edges, fit, at.senders, **limits)
            if camps > 0:
                record = pushes.part(record, before, after, sent.mean, edges, at.senders, alike=camps)
            out = by_message(record.out, at.senders)
        trusted = fit & (out == 0)
        seen = Inspection(trusted)
        if distances is not None:
            fault = torch.where(out > 0, out, torch.where(fit, 0, torch.where(same_way, 3, 1)))
            found = (distances.outside, distances.worst, distances.sigmas)
            seen = Inspection(trusted, *found, going, (fault * edges).to(torch.uint8))
        if bounded:
            pooled = pool_within(sent, trusted, at.social, at.local, floor=std_floor, ceiling=std_ceiling or None)
        else:
            pooled = pool(sent, trusted, otherwise=at.social)
        looking = at.local_learns
        if introspection != "while_local_learns":
            early = introspection == "first_rounds" and at.round < introspection_rounds
            looking = torch.full_like(looking, early or introspection == "always")
        repaired, overwritten = introspect(pooled, at.local, width, looking, scope=overwrite)
        if heading != "off" and at.start is not None:
            alone = known.sum(1) <= 1  # itself at most
            lost = looking & (own_heading(local, at.start, pooled.mean) < torch.where(alone, lowest, min(lowest, 0.0)))
            if lost.is_cuda or lost.any():  # a GPU is not asked, for the host would have to wait
                back = lost[:, None]
                mean = torch.where(back, at.local.mean, repaired.mean)
                repaired = Belief(mean, torch.where(back, at.local.rho, repaired.rho))
                overwritten = torch.where(lost, sent.weights, overwritten)
        if keeps:
            assert at.previous is not None
            record = pushes.move_on(record, at.previous.mean, repaired.mean, trusted, at.senders)
        return Outcome(repaired, record, replace(seen, overwritten=overwritten))

    needs: set[Need] = {"local"}
    needs |= {"halves"} if kappa == "auto" else set()
    needs |= {"start"} if heading != "off" else set()
    needs |= {"previous"} if remembers else set()
    init: Callable[[int, int, int], Any] = partial(pushes.begin, parts=camps > 0) if remembers else stateless
    return Rule(init, judge, needs=frozenset(needs), steady=introspection != "first_rounds")


def kept_of(record: Record | Nothing, at: Receivers, sent: Belief) -> bool:
    """Whether there is a record of whoever sent this; mixes that a step before the rule made have none."""
    return isinstance(record, Record) and (at.senders is not None or len(sent) == record.known.shape[1])


def by_message(table: Tensor, senders: Tensor | None) -> Tensor:
    """A table by sender as one by message. [receiver, message]"""
    return table if senders is None else table[:, senders]


def disagreement(at: Receivers, local: Belief, c: float, per_layer: bool) -> Tensor:
    """How far apart, in stds, two honest parties with half of the receiver's data each have come, times c.

    c * max_k |mean_A[k] - mean_B[k]| / std[k], over all weights [receiver, 1] or over each layer's
    [receiver, weight].
    """
    assert at.halves is not None
    gap = (at.halves[0].mean - at.halves[1].mean).abs() / local.std
    if not per_layer:
        return c * gap.amax(1, keepdim=True)
    parts = gap.split(at.layers or (gap.shape[1],), dim=1)
    return c * torch.cat([part.amax(1, keepdim=True).expand_as(part) for part in parts], dim=1)
