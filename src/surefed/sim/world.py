"""All that changes from round to round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from surefed.core import Round
from surefed.learn import Rows, Watch
from surefed.sim.replay import Replay


@dataclass(slots=True)
class World:
    """All that changes from round to round.

    round: how many rounds are complete.
    rows: everybody's beliefs, one group after the other.
    state: what the rule remembers.
    watch: what early stopping remembers.
    trusted: who trusted whom in the round before. bool [receiver, sender]
    replay: the round captured on a GPU, where there is one; it holds no more than can be captured again.
    lent: the local rows of another world, which learns them for this one too and plays every round before it.
    """

    round: int
    rows: Rows
    state: Any
    watch: Watch
    trusted: Tensor
    replay: Replay | None = field(default=None, repr=False, compare=False)
    lent: Rows | None = field(default=None, repr=False, compare=False)

    @property
    def live(self) -> Replay | None:
        """What stands for the round's number and its edges while a round is captured."""
        return self.replay if self.replay is not None and self.replay.on else None

    @property
    def number(self) -> Round:
        """The round's number, as random numbers are addressed by it: a tensor while a round is captured."""
        return self.round if self.live is None else self.live.round

    @property
    def own(self) -> slice:
        """The rows that are not borrowed."""
        return slice(0, len(self.rows.steps) - (0 if self.lent is None else len(self.lent.steps)))

    @property
    def borrowed(self) -> slice:
        """The rows that are."""
        return slice(self.own.stop, None)

    def whole(self) -> Rows:
        """All rows; what the optimiser of borrowed ones remembers is brought over, which no round needs."""
        if self.lent is not None:
            self.rows[self.borrowed] = self.lent
        return self.rows

    def borrow(self, lent: Rows | None) -> None:
        """From here on the local rows are those that another world learns or, with None, its own again."""
        self.whole()
        self.lent, self.replay = lent, None
