"""Krum: take over the one sender that is nearest to its nearest."""

from __future__ import annotations

from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import best, krum_scores, mix, products, reckoned, uniform
from surefed.rules.base import Inspection, Need, Nothing, Outcome, Receivers, Rule, stateless


def krum(*, malicious: int | None = None) -> Rule[Nothing]:
    """Take over the one neighbour that lies closest to its n - f - 2 closest others (Blanchard et al. 2017).

    The paper asks for n > 2f + 2. Beyond that the rule goes on with what is left, at least one closest other: f is cut
    to n - 3. Of equal scores, which the two closest senders always have when one other counts, the sender nearer to
    the receiver wins. Who hears nobody keeps its own belief. ByzFL (González et al. 2025) counts n - f - 1 closest
    others, so its f is f - 1 here, and of equal scores it takes the first sender.

    Args:
        malicious: f; None is the number of malicious senders heard, which it is told.
    """
    if malicious is not None and malicious < 0:
        raise ValueError(f"malicious is a number of senders, 0 or more, not {malicious}")

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        told = malicious if malicious is not None else at.malicious
        assert told is not None
        told, used = reckoned(told, edges.sum(1) - 3)
        known = products(at.social.mean, sent.mean)
        chosen = best(krum_scores(known, edges, used), known, edges, 1)
        keep, weight = uniform(chosen)
        social = Belief(mix(at.social.mean, sent.mean, keep, weight), mix(at.social.rho, sent.rho, keep, weight))
        return Outcome(social, state, Inspection(chosen, told=told, used=used))

    needed: frozenset[Need] = frozenset() if malicious is not None else frozenset({"malicious"})
    return Rule(
        stateless,
        judge,
        needs=needed,
        learner="point",
        bound="n - 3 of the n heard, and meant for fewer than n / 2 - 1",
    )
