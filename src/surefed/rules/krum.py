"""Krum: take over the one sender that is nearest to its nearest."""

from __future__ import annotations

from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import best, krum_scores, mix, products, uniform
from surefed.rules.base import Inspection, Need, Nothing, Outcome, Receivers, Rule, stateless


def krum(*, malicious: int | None = None) -> Rule[Nothing]:
    """Take over the one neighbour that lies closest to its n - f - 2 closest others (Blanchard et al. 2017).

    The paper asks for n > 2f + 2. Beyond that the rule goes on with what is left, at least one closest other: f is cut
    to n - 3. Of equal scores, which the two closest senders always have when one other counts, the sender nearer to
    the receiver wins. Who hears nobody keeps its own belief.

    Args:
        malicious: f; None is the number of malicious senders heard, which it is told.
    """
    if malicious is not None and malicious < 0:
        raise ValueError(f"malicious is a number of senders, 0 or more, not {malicious}")

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        told = malicious if malicious is not None else at.malicious
        assert told is not None
        known = products(at.social.mean, sent.mean)
        chosen = best(krum_scores(known, edges, told), known, edges, 1)
        keep, weight = uniform(chosen)
        social = Belief(mix(at.social.mean, sent.mean, keep, weight), mix(at.social.rho, sent.rho, keep, weight))
        return Outcome(social, state, Inspection(chosen))

    needed: frozenset[Need] = frozenset() if malicious is not None else frozenset({"malicious"})
    return Rule(stateless, judge, needs=needed, learner="point")
