"""SureFED: trust a sender that goes your way as far as your own doubt reaches, pool the trusted, look into yourself."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from surefed.core import (
    Belief,
    Scope,
    band,
    confidence_set,
    inside,
    introspect,
    measure,
    own_way,
    pool,
    pool_within,
    ways,
)
from surefed.rules.base import Inspection, Need, Nothing, Outcome, Receivers, Rule, equally_certain, stateless


def surefed(
    *,
    heading: float | Literal["off"] = 0.6,
    lowest: float = 0.25,
    reach: float = 0.65,
    kappa: float | Literal["auto"] = 50.0,
    c: float = 0.8,
    per_layer: bool = False,
    band_std: float | None = None,
    agreement: float = 1.0,
    introspection: Literal["always", "while_local_learns", "first_rounds", "never"] = "always",
    introspection_rounds: int = 0,
    overwrite: Scope = "mean",
    std_floor: float = 1.0,
    std_ceiling: float | None = None,
) -> Rule[Nothing]:
    """Pool the senders that go your way and lie inside your own band, then repair yourself (the paper's rule and more).

    The paper's test: sender j is trusted by receiver i when |local_mean_i - mean_j| <= kappa * local_std_i on a share
    `agreement` of the weights, 1.0 being every weight. Ours before it: j must also have gone the same way as i's local
    belief since the start that all share. In units of i's local std, the cosine of the two ways must reach `heading`
    times that of i's own social belief, and never less than `lowest`. As long as nobody has learned anything, nobody
    has a heading, and everybody learns alone: liars are never pooled, not even at first. And a client whose social
    belief has come less than `reach` of its local way is being held back: until it has caught up it hears nobody who
    has come less far along that way than it had itself before the round. The rule `paper` goes without all this.

    The client itself is inspected like any other sender. Where the pooled mean leaves the client's own band, the local
    mean is put back; where its heading falls below `lowest`, the whole local belief is. Weights without posterior,
    such as BatchNorm's, are not inspected and are averaged over the trusted.

    Args:
        heading: how well a sender's heading must agree with the local one, as a share of how well the receiver's own
            social belief does; "off" looks at the band only, which is the paper.
        lowest: the least agreement of headings that is ever enough.
        reach: the share of its local way that a social belief must have come for its client to hear those who would
            set it back; 0 hears them always.
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
            ones, so that nobody can claim a certainty that owns the pool; 0 and none are the paper.
    """
    if heading != "off" and not (0 <= heading <= 1 and -1 <= lowest <= 1):
        raise ValueError(f"heading must lie in [0, 1] and lowest in [-1, 1], not {heading} and {lowest}")
    if not 0 <= reach <= 1:
        raise ValueError(f"reach must lie in [0, 1], not {reach}")
    if kappa != "auto" and not kappa >= 0:
        raise ValueError(f"kappa must not be negative or NaN, and {kappa} is")
    if not 0 < agreement <= 1:
        raise ValueError(f"agreement must lie in (0, 1], not {agreement}")
    if introspection == "first_rounds" and introspection_rounds < 1:
        raise ValueError('introspection = "first_rounds" needs introspection_rounds, how many they are')
    if not c > 0 or (band_std is not None and not band_std > 0):
        raise ValueError("c and band_std must be positive")
    if not 0 <= std_floor <= 1 or (std_ceiling is not None and not std_ceiling >= 1):
        raise ValueError("std_floor must lie in [0, 1] and std_ceiling must be at least 1: the local std is 1")
    if per_layer and kappa != "auto":
        raise ValueError('per_layer belongs to kappa = "auto"')
    bounded = std_floor > 0 or std_ceiling is not None

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        assert at.local is not None
        assert at.local_learns is not None
        local = at.local if band_std is None else Belief.constant(at.local.mean, band_std)
        if at.certain is not None:  # nothing is outside of an infinite doubt
            local = Belief(local.mean, local.rho.masked_fill(at.certain, torch.inf))
            sent = equally_certain(sent, at.certain)
        width = band(local, disagreement(at, local, c, per_layer) if kappa == "auto" else kappa)
        if at.certain is not None:
            width = width.masked_fill(at.certain, torch.inf)
        going, same_way, backwards = None, edges, torch.zeros_like(edges)
        if heading != "off":
            assert at.start is not None
            theirs, own = ways(local, at.start, sent.mean, edges), own_way(local, at.start, at.social.mean)
            going = theirs.heading
            same_way = edges & (going >= (heading * own.heading).clamp(min=lowest)[:, None])
            if reach > 0:
                assert at.previous is not None
                before = own_way(local, at.start, at.previous.mean)
                backwards = same_way & (theirs.reach < before.reach[:, None]) & (own.reach < reach)[:, None]
                same_way &= ~backwards
        if at.detail or agreement < 1:
            distances = measure(local, width, sent.mean, detail=True, edges=edges)
            trusted = confidence_set(distances, same_way, sent.weights, agreement)
            fault = torch.where(backwards, 2, torch.where(edges & ~same_way, 1, torch.where(edges & ~trusted, 3, 0)))
            seen = Inspection(
                trusted, distances.outside, distances.worst, distances.sigmas, going, fault.to(torch.uint8)
            )
        else:
            trusted = inside(local, width, sent.mean, same_way)
            seen = Inspection(trusted)
        if bounded:
            pooled = pool_within(sent, trusted, at.social, at.local, floor=std_floor, ceiling=std_ceiling)
        else:
            pooled = pool(sent, trusted, otherwise=at.social)
        looking = {
            "always": torch.ones_like(at.local_learns),
            "while_local_learns": at.local_learns,
            "first_rounds": torch.ones_like(at.local_learns) & (at.round < introspection_rounds),
            "never": torch.zeros_like(at.local_learns),
        }[introspection]
        repaired, overwritten = introspect(pooled, at.local, width, looking, scope=overwrite)
        if heading != "off" and at.start is not None:
            lost = looking & (own_way(local, at.start, pooled.mean).heading < lowest)
            back = lost[:, None]
            mean = torch.where(back, at.local.mean, repaired.mean)
            repaired = Belief(mean, torch.where(back, at.local.rho, repaired.rho))
            overwritten = torch.where(lost, sent.weights, overwritten)
        return Outcome(repaired, state, replace(seen, overwritten=overwritten))

    needs: set[Need] = {"local"}
    needs |= {"halves"} if kappa == "auto" else set()
    if heading != "off":
        needs |= {"start", "previous"} if reach > 0 else {"start"}
    return Rule(stateless, judge, needs=frozenset(needs), steady=introspection != "first_rounds")


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
