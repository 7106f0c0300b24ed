"""Random numbers for layers that draw some of their own while they train, such as dropout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from surefed.core import Round, Stream
from surefed.core.streams import seeding_torch

STEPS = 1 << 20
"""Weight draws of a round have numbers below this; layers draw at multiples of it, so that the two never meet."""


@dataclass(slots=True)
class Masks:
    """What the layers of a network draw in one training step; each row draws from its own stream.

    Layers ask one after the other, and each is given numbers that depend on the row's owner, the round, the step and
    which layer asks, but neither on the rows beside it nor on what was drawn before.
    """

    noise: Stream
    round: Round
    draw: int
    asked: int = 0

    def uniform(self, count: int) -> Tensor:
        """The next layer's numbers inside (0, 1). float32 [row, count]"""
        self.asked += 1
        return self.noise.uniform(count, round=self.round, draw=self.draw + self.asked * STEPS)

    @contextmanager
    def seeding_torch(self, device: torch.device) -> Iterator[None]:
        """Let torch's own generator follow from the first row's stream, for layers that know no other."""
        words = self.noise[:1].bits(2, round=self.round, draw=self.draw + STEPS)[0].tolist()
        with seeding_torch((words[0] << 31) ^ words[1], device):
            yield
