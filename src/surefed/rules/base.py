"""The contract that the simulator and the peers share: a rule judges receivers against senders under a mask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import torch
from torch import Tensor

from surefed.core import RHO_MAX, RHO_MIN, Belief

S = TypeVar("S", bound=tuple[Any, ...])

Need = Literal["local", "start", "previous", "malicious", "honest", "degrees", "halves", "loss"]
"""What a rule may ask for beyond the social belief; a caller provides only what is asked for."""


class Nothing(NamedTuple):
    """The state of a rule that remembers nothing."""


@dataclass(frozen=True, slots=True)
class Receivers:
    """The clients that judge: all of them in the simulator, one on a peer.

    social: what each learned this round, before pooling. [receiver, weight]
    local: the belief each trains on its own data only; None unless the rule needs "local". [receiver, weight]
    local_learns: whether the local belief still trains. bool [receiver]
    start: the mean that everybody began with; None unless needed. [weight]
    previous: the social belief before this round's learning; None unless needed. [receiver, weight]
    malicious: how many of the senders heard are malicious, for rules that must be told; None unless needed. [receiver]
    honest: which senders are honest, which only a control may know; None unless needed. bool [sender]
    degrees: how many others each sender hears, for rules that weigh by it; None unless needed. int64 [sender]
    halves: two beliefs that each learn from a half of the receiver's own data; None unless needed. [receiver, weight]
    loss: (models [model, weight], samples) -> the mean loss of each model on so many of each receiver's own training
        samples [receiver, model]; None unless needed.
    senders: the client that each message comes from, where some have sent different ones to different receivers; None
        where message k is that of client k. int64 [message]
    layers: how many weights each parameter of the network has, in order.
    certain: the weights that have no posterior, such as BatchNorm's; None where every weight has one. bool [weight]
    round, rounds: which round it is, counted from 0, and how many there will be.
    detail: whether somebody wants to know more than who is trusted.
    """

    social: Belief
    round: int
    rounds: int
    local: Belief | None = None
    local_learns: Tensor | None = None
    start: Tensor | None = None
    previous: Belief | None = None
    malicious: Tensor | None = None
    honest: Tensor | None = None
    degrees: Tensor | None = None
    halves: tuple[Belief, Belief] | None = None
    loss: Callable[[Tensor, int], Tensor] | None = None
    senders: Tensor | None = None
    layers: tuple[int, ...] = ()
    certain: Tensor | None = None
    detail: bool = False


@dataclass(frozen=True, slots=True)
class Inspection:
    """What only a curious human needs.

    trusted: bool [receiver, sender].
    outside: how many weights of the sender lie outside the receiver's band. int64 [receiver, sender]
    worst: the weight that is the most stds away. int64 [receiver, sender]
    sigmas: how many stds it is away. [receiver, sender]
    heading: how well the sender's way from the start agrees with the receiver's local one, from -1 to 1.
        [receiver, sender]
    fault: why the sender was left out, an index of core.FAULTS. uint8 [receiver, sender]
    overwritten: how many weights introspection put back. int64 [receiver]
    told: how many malicious senders the rule was told to reckon with. int64 [receiver]
    used: how many it did reckon with: fewer where it is not defined for so many. int64 [receiver]
    All but `trusted` are None where the rule has no such thing, or nobody asked for detail.
    """

    trusted: Tensor
    outside: Tensor | None = None
    worst: Tensor | None = None
    sigmas: Tensor | None = None
    heading: Tensor | None = None
    fault: Tensor | None = None
    overwritten: Tensor | None = None
    told: Tensor | None = None
    used: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Outcome(Generic[S]):
    """The receivers' new social belief, what the next round needs, and what a human may look at."""

    social: Belief
    state: S
    inspection: Inspection


@dataclass(frozen=True, slots=True)
class Rule(Generic[S]):
    """A way to aggregate.

    init: (receivers, senders, weights) -> state, tensors whose first axis is the receivers.
    judge: (receivers, sent, edges, state) -> outcome, a pure function of the author's; call `step`, which guards it.
    needs: what `judge` reads of the receivers beyond the social belief; a rule that needs no local belief costs none.
    learner: how the paper (or the rule's source) trains clients under it.
    bound: how many malicious senders it is defined for, in words, for rules that may be told of more.
    steady: whether `judge` neither looks at the round's number nor waits for a GPU, so that one can replay it.
    """

    init: Callable[[int, int, int], S]
    judge: Callable[[Receivers, Belief, Tensor, S], Outcome[S]]
    needs: frozenset[Need] = field(default=frozenset())
    learner: Literal["variational", "point"] = "variational"
    bound: str = ""
    steady: bool = False

    def step(self, at: Receivers, sent: Belief, edges: Tensor, state: S) -> Outcome[S]:
        """Judge what was sent.

        A sender with a NaN or an infinity is not heard by anybody: its row is blanked and its edges are cut before
        the rule sees them, so no rule can trust it or be moved by it. What comes out is held within the range of
        stds that can be learned from, whatever was claimed.

        Args:
            sent: [sender, weight].
            edges: bool [receiver, sender], who hears whom.
        """
        missing = [need for need in self.needs if getattr(at, need) is None]
        if missing:
            raise ValueError(f"this rule needs {', '.join(sorted(missing))} of its receivers")
        if sent.weights != at.social.weights:
            raise ValueError(f"senders have {sent.weights} weights, receivers {at.social.weights}")
        finite = sent.finite()
        if finite.is_cuda or not bool(finite.all()):  # a GPU would have to be waited for
            keep = finite[:, None]
            sent = Belief(torch.where(keep, sent.mean, 0.0), torch.where(keep, sent.rho, 0.0))
            edges = edges & finite
        outcome = self.judge(at, sent, edges, state)
        social = Belief(outcome.social.mean, outcome.social.rho.clamp(RHO_MIN, RHO_MAX))
        return replace(outcome, social=social)


def some(at: Receivers, rows: Tensor) -> Receivers:
    """Some of the receivers. rows: int64 [row]"""
    whole = ("social", "local", "local_learns", "previous", "malicious")
    picked: dict[str, Any] = {name: None if (value := getattr(at, name)) is None else value[rows] for name in whole}
    if at.halves is not None:
        picked["halves"] = (at.halves[0][rows], at.halves[1][rows])
    if (loss := at.loss) is not None:
        picked["loss"] = lambda models, samples: loss(models, samples)[rows]
    return replace(at, **picked)


def equally_certain(sent: Belief, certain: Tensor | None) -> Belief:
    """What was sent, with one std for all senders on the weights without posterior: pooling averages those.

    certain: bool [weight], or None where every weight has a posterior.
    """
    return sent if certain is None else Belief(sent.mean, sent.rho.masked_fill(certain, RHO_MIN))


def stateless(receivers: int, senders: int, weights: int) -> Nothing:
    """The `init` of a rule that remembers nothing."""
    return Nothing()
