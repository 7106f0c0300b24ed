"""Learn one weight vector, not a belief: SGD with momentum, as the paper trains the non-Bayesian baselines."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefed.learn.base import Lesson, Rows, begin, each_block, gradient
from surefed.learn.fast import teach
from surefed.learn.functional import Network
from surefed.learn.masks import Masks
from surefed.learn.native import Recipe


@dataclass(frozen=True)
class Point:
    """SGD: buffer <- momentum * buffer + gradient; mean <- mean - learning_rate * buffer. rho stays constant."""

    network: Network
    learning_rate: float = 0.01
    momentum: float = 0.9
    rho: float = -3.0
    keep_moments: bool = True

    def init(self, mean: Tensor, rows: int) -> Rows:
        """Rows that all start from the same weights; rho is the same everywhere, so that pooling is averaging."""
        return begin(self.network, mean, self.rho, rows, moments=1)

    @torch.no_grad()
    def learn(self, rows: Rows, lesson: Lesson, active: Tensor | None = None) -> None:
        """All batches of the round: by the kernels of the machine where it has some, else block after block."""
        recipe = Recipe(self.learning_rate, self.keep_moments, momentum=self.momentum)
        if teach(self.network, rows, lesson, active, recipe):
            return
        for part, block in each_block(self.network, rows, lesson, active):
            batches, noise, (buffer,) = lesson.batches[part], lesson.noise[part], block.moments
            if not self.keep_moments:
                buffer.zero_()
                block.steps.zero_()
            for turn in range(batches.shape[1]):
                seen = batches[:, turn]
                inputs, labels, masks = lesson.inputs[seen], lesson.labels[seen], Masks(noise, lesson.round, turn)
                slope = gradient(self.network, block.mean.clone(), inputs, labels, masks, block.buffers)
                buffer.mul_(self.momentum).add_(slope)
                block.mean.sub_(buffer, alpha=self.learning_rate)
                block.steps += 1
