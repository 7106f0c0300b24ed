"""ClippedGossip: ordinary gossip in which nobody pulls harder than the farthest believable neighbour."""

from __future__ import annotations

from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import clip_weights, from_own, mix, products, reckoned, uniform
from surefed.rules.base import Inspection, Need, Nothing, Outcome, Receivers, Rule, stateless


def clipped_gossip(*, tau: float | None = None) -> Rule[Nothing]:
    """Gossip with every pull clipped to a radius around one's own weights (He, Karimireddy and Jaggi 2022).

    x_i + sum_j W_ij clip(x_j - x_i, tau_i) with W_ij = 1/n over the n senders heard. By default tau_i adapts: with
    f malicious among those heard it is the (f + 1)-th largest distance, so all that may be a lie pulls no harder than
    the farthest that need not be; f is cut to n - 1, the nearest sender's distance. Rhos are averaged; who hears
    nobody keeps its own belief.

    Args:
        tau: one radius for everybody; None adapts it by the number of malicious senders heard, which it is told.
    """
    if tau is not None and not tau > 0:
        raise ValueError(f"tau is a radius, above 0, not {tau}")

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        squared = from_own(products(at.social.mean, sent.mean))
        radius: Tensor | float
        told = used = None
        if tau is None:
            assert at.malicious is not None
            farthest = squared.masked_fill(~edges, 0.0).sort(1, descending=True).values
            told, used = reckoned(at.malicious, edges.sum(1) - 1)
            radius = farthest.gather(1, used[:, None]).sqrt()
        else:
            radius = tau
        weight = clip_weights(squared, edges, radius)
        mean = mix(at.social.mean, sent.mean, 1.0 - weight.sum(1, keepdim=True), weight)
        rho = mix(at.social.rho, sent.rho, *uniform(edges))
        return Outcome(Belief(mean, rho), state, Inspection(edges, told=told, used=used))

    needed: frozenset[Need] = frozenset() if tau is not None else frozenset({"malicious"})
    return Rule(stateless, judge, needs=needed, learner="point", bound="fewer than all of those heard", steady=True)
