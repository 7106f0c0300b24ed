"""Multi-Krum: average the senders that are nearest to their nearest."""

from __future__ import annotations

from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import best, krum_scores, mix, products, reckoned, uniform
from surefed.rules.base import Inspection, Need, Nothing, Outcome, Receivers, Rule, stateless


def multi_krum(*, malicious: int | None = None, chosen: int | None = None) -> Rule[Nothing]:
    """Average the m neighbours that lie closest to their n - f - 2 closest others (Blanchard et al. 2017).

    The paper asks for n > 2f + 2. Beyond that the scores go on with what is left, at least one closest other, and m
    is at least 1. Of equal scores the sender nearer to the receiver wins. Who hears nobody keeps its own belief.
    ByzFL (González et al. 2025) counts n - f - 1 closest others and averages n - f senders: its f is `malicious` f - 1
    and `chosen` n - f here.

    Args:
        malicious: f; None is the number of malicious senders heard, which it is told.
        chosen: m, at most as many as are heard; None is n - f.
    """
    if malicious is not None and malicious < 0:
        raise ValueError(f"malicious is a number of senders, 0 or more, not {malicious}")
    if chosen is not None and chosen < 1:
        raise ValueError(f"chosen is how many senders to average, 1 or more, not {chosen}")

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        told = malicious if malicious is not None else at.malicious
        assert told is not None
        told, used = reckoned(told, edges.sum(1) - 3)
        count = chosen if chosen is not None else (edges.sum(1) - told).clamp_min(1)
        known = products(at.social.mean, sent.mean)
        trusted = best(krum_scores(known, edges, used), known, edges, count)
        keep, weight = uniform(trusted)
        social = Belief(mix(at.social.mean, sent.mean, keep, weight), mix(at.social.rho, sent.rho, keep, weight))
        return Outcome(social, state, Inspection(trusted, told=told, used=used))

    needed: frozenset[Need] = frozenset() if malicious is not None else frozenset({"malicious"})
    return Rule(
        stateless,
        judge,
        needs=needed,
        learner="point",
        bound="n - 3 of the n heard, and meant for fewer than n / 2 - 1",
    )
