"""Zeno between peers: every client tries the models it hears on its own data."""

from __future__ import annotations

import torch
from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import from_products, mix, reckoned, uniform, worst_if_not_finite
from surefed.rules.base import Inspection, Need, Nothing, Outcome, Receivers, Rule, stateless


def zeno(*, samples: int = 20, rho: float = 5e-4, drop: int | None = None) -> Rule[Nothing]:
    """Drop the models that lower your own loss least, average the rest (Xie, Koyejo and Gupta 2019, peer to peer).

    With p the receiver's belief before this round and f its loss on a few samples of its own, sender j scores
    f(p) - f(x_j) - rho * mean square of (x_j - p); the lowest are dropped, of equal ones those that come first.

    Args:
        samples: how many of the receiver's own training samples a model is tried on; the authors' code has 4.
        rho: price of being far away, on the mean of squares as in the authors' code.
        drop: how many to drop; as many as there are malicious ones among the heard, if not given.
    """
    if samples < 1:
        raise ValueError(f"samples must be at least 1, not {samples}")
    if not rho >= 0:
        raise ValueError(f"rho must not be negative, and {rho} is")
    if drop is not None and drop < 0:
        raise ValueError(f"drop must not be negative, and {drop} is")

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        assert at.loss is not None
        assert at.previous is not None
        # f(p) is the same for all senders of a receiver, so it cannot change who is dropped, and is not computed
        after = worst_if_not_finite(at.loss(sent.mean, samples))
        score = -after - rho * _apart(at.previous.mean, sent.mean) / sent.weights
        order = score.masked_fill(~edges, torch.inf).argsort(dim=1, stable=True)
        rank = order.argsort(dim=1)
        given = at.malicious if drop is None else drop
        assert given is not None
        told, used = reckoned(given, edges.sum(1))
        kept = edges & (rank >= used[:, None])
        keep, weight = uniform(kept)
        social = Belief(mix(at.social.mean, sent.mean, keep, weight), mix(at.social.rho, sent.rho, keep, weight))
        return Outcome(social, state, Inspection(kept, told=told, used=used))

    needs: set[Need] = {"loss", "previous"}
    needs |= {"malicious"} if drop is None else set()
    bound = "no more than all of those heard"
    return Rule(stateless, judge, needs=frozenset(needs), learner="point", bound=bound, steady=True)


def _apart(own: Tensor, sent: Tensor) -> Tensor:
    """||own_i - sent_j||^2. float64 [receiver, sender]"""
    if not sent.is_cuda:
        return torch.cdist(own.double(), sent.double(), compute_mode="use_mm_for_euclid_dist").square()
    return from_products(own, sent)
