"""The oracle: the upper bound that any defence can only approach."""

from __future__ import annotations

from torch import Tensor

from surefed.core import Belief, pool
from surefed.rules.base import Inspection, Nothing, Outcome, Receivers, Rule, stateless


def oracle() -> Rule[Nothing]:
    """Pool exactly the honest neighbours, by being told who they are (control: the upper bound)."""

    def judge(at: Receivers, sent: Belief, edges: Tensor, state: Nothing) -> Outcome[Nothing]:
        assert at.honest is not None
        trusted = edges & at.honest
        return Outcome(pool(sent, trusted, otherwise=at.social), state, Inspection(trusted))

    return Rule(stateless, judge, needs=frozenset({"honest"}), steady=True)
