"""Trimmed mean: drop the extremes of every weight, average the rest."""

from __future__ import annotations

from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import half, mix, reckoned, trimmed, uniform
from surefed.rules.base import Inspection, Need, Nothing, Outcome, Receivers, Rule, stateless


def trimmed_mean(*, trim: int | None = None) -> Rule[Nothing]:
    """Drop as many of the largest and of the smallest values as there are liars, average the rest (Yin et al. 2018).

    It is defined for fewer than half malicious. More than floor((n - 1) / 2) of the n senders heard are never dropped
    at either end: there the rule is the median (ByzFL, González et al. 2025, refuses). Rhos are averaged; who hears
    nobody keeps its own belief.

    Args:
        trim: how many to drop at either end; None is the number of malicious senders heard, which it is told.
    """
    if trim is not None and trim < 0:
        raise ValueError(f"trim is how many to drop at either end, 0 or more, not {trim}")

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        told = trim if trim is not None else at.malicious
        assert told is not None
        told, drop = reckoned(told, half(edges))
        mean = trimmed(sent.mean, edges, drop, otherwise=at.social.mean)
        rho = mix(at.social.rho, sent.rho, *uniform(edges))
        return Outcome(Belief(mean, rho), state, Inspection(edges, told=told, used=drop))

    needed: frozenset[Need] = frozenset() if trim is not None else frozenset({"malicious"})
    return Rule(stateless, judge, needs=needed, learner="point", bound="fewer than half of those heard", steady=True)
