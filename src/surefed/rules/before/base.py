"""A step before a rule: it turns what a neighbourhood sent into mixes of it, and the rule judges the mixes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

import torch
from torch import Tensor

from surefed.core import Belief
from surefed.core.robust import between_senders, mix, products
from surefed.rules.base import Inspection, Need, Outcome, Receivers, Rule, S, some


class Mixes(NamedTuple):
    """What the rule is shown instead of the n messages of a neighbourhood.

    weight: every row a convex mix of the n. float64 [mix, message]
    of: the mix that stands for each message when the rule says whom it trusts. int64 [message]
    """

    weight: Tensor
    of: Tensor


@dataclass(frozen=True, slots=True)
class Before:
    """A step before a rule.

    mixes: (squared distances between the n messages of a neighbourhood [n, n], how many of them lie, round) -> mixes.
    needs: what it must be told of the receivers, beyond what the rule needs.
    """

    mixes: Callable[[Tensor, int, int], Mixes]
    needs: frozenset[Need] = field(default=frozenset())


def preceded(rule: Rule[S], before: Before) -> Rule[S]:
    """The rule, shown mixes instead of messages.

    Receivers that hear the same senders are judged in one call, so a complete graph costs one call. A mix is honest if
    all it is made of is, and hears as many others as the one among its messages that hears most. A message is trusted
    if the mix that stands for it is. Means and rhos are mixed alike.
    """

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: S) -> Outcome[S]:
        apart = between_senders(products(sent.mean[:0], sent.mean))
        told = at.malicious if at.malicious is not None else torch.zeros_like(edges[:, 0], dtype=torch.int64)
        kinds, kind = torch.unique(torch.cat([edges.to(torch.int64), told[:, None]], 1), dim=0, return_inverse=True)
        if len(kinds) == 1:
            return _judge(rule, before, at, sent, edges[0], apart, state)
        parts = []
        for number in range(len(kinds)):
            rows = (kind == number).nonzero().flatten()
            mine = type(state)(*(value[rows] for value in state))
            hears = kinds[number, :-1].bool()
            parts.append((rows, _judge(rule, before, some(at, rows), sent, hears, apart, mine)))
        return _together(parts)

    return replace(rule, judge=judge, needs=rule.needs | before.needs, steady=False)


def _judge(
    rule: Rule[S], before: Before, at: Receivers, sent: Belief, hears: Tensor, apart: Tensor, state: S
) -> Outcome[S]:
    """Receivers that all hear the same senders. hears: bool [sender]"""
    receivers, heard = len(at.social), hears.nonzero().flatten()
    if len(heard) == 0:
        return rule.judge(at, sent, hears.expand(receivers, -1), state)
    liars = int(at.malicious[0]) if at.malicious is not None else 0
    weight, of = before.mixes(apart[heard][:, heard], liars, at.round)
    nobody = torch.zeros(len(weight), 1, dtype=torch.float64, device=weight.device)
    shape = torch.empty(len(weight), sent.weights, dtype=sent.mean.dtype, device=weight.device)
    shown = Belief(mix(shape.zero_(), sent.mean[heard], nobody, weight), mix(shape, sent.rho[heard], nobody, weight))
    if at.honest is not None:
        at = replace(at, honest=~((weight > 0) & ~at.honest[heard]).any(1))
    if at.degrees is not None:
        most = torch.zeros(len(weight), dtype=at.degrees.dtype, device=weight.device)
        at = replace(at, degrees=most.scatter_reduce_(0, of, at.degrees[heard], "amax"))
    outcome = rule.judge(at, shown, torch.ones(receivers, len(weight), dtype=torch.bool, device=weight.device), state)
    found = {
        name: torch.zeros(receivers, len(hears), dtype=value.dtype, device=value.device).index_copy(
            1, heard, value[:, of]
        )
        for name, value in _known(outcome.inspection).items()
        if value.dim() == 2
    }
    return replace(outcome, inspection=replace(outcome.inspection, **found))


def _together(parts: list[tuple[Tensor, Outcome[S]]]) -> Outcome[S]:
    """The outcomes of some receivers each as one of all."""
    order = torch.cat([rows for rows, _ in parts]).argsort()
    outcomes = [outcome for _, outcome in parts]

    def joined(values: list[Tensor]) -> Tensor:
        return torch.cat(values)[order]

    mean = joined([outcome.social.mean for outcome in outcomes])
    rho = joined([outcome.social.rho for outcome in outcomes])
    state = type(outcomes[0].state)(
        *(joined(list(values)) for values in zip(*(each.state for each in outcomes), strict=True))
    )
    seen = {
        name: joined([getattr(each.inspection, name) for each in outcomes]) for name in _known(outcomes[0].inspection)
    }
    return Outcome(Belief(mean, rho), state, Inspection(**seen))


def _known(inspection: Inspection) -> dict[str, Tensor]:
    """The parts of an inspection that there are."""
    values = {part.name: getattr(inspection, part.name) for part in fields(inspection)}
    return {name: value for name, value in values.items() if value is not None}
