"""BRIDGE-T: screen the neighbours by a trimmed mean, and count oneself in unscreened."""

from __future__ import annotations

from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import half, mix, reckoned, trimmed, uniform
from surefed.rules.base import Inspection, Need, Nothing, Outcome, Receivers, Rule, stateless


def bridge(*, trim: int | None = None) -> Rule[Nothing]:
    """Average one's own value with what a trimmed mean leaves of the neighbours' (Fang, Yang and Bajwa 2022).

    Per weight, (own + sum of the n - 2b values left) / (n - 2b + 1). It needs n >= 2b + 1: b is cut to
    floor((n - 1) / 2). Everybody heard is a neighbour, also the receiver itself where the graph says it hears itself.
    Rhos of those heard are averaged; who hears nobody keeps its own belief.

    Args:
        trim: b, how many to drop at either end; None is the number of malicious senders heard, which it is told.
    """
    if trim is not None and trim < 0:
        raise ValueError(f"trim is how many to drop at either end, 0 or more, not {trim}")

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        told = trim if trim is not None else at.malicious
        assert told is not None
        told, drop = reckoned(told, half(edges))
        left = trimmed(sent.mean, edges, drop, otherwise=at.social.mean).double()
        own = 1.0 / (edges.sum(1) - 2 * drop + 1).double()[:, None]
        mean = (own * at.social.mean.double() + (1.0 - own) * left).to(at.social.mean.dtype)
        rho = mix(at.social.rho, sent.rho, *uniform(edges))
        return Outcome(Belief(mean, rho), state, Inspection(edges, told=told, used=drop))

    needed: frozenset[Need] = frozenset() if trim is not None else frozenset({"malicious"})
    return Rule(stateless, judge, needs=needed, learner="point", bound="fewer than half of those heard", steady=True)
