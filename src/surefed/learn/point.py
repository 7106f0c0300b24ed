"""Learn one weight vector, not a belief: SGD with momentum, as the paper trains the non-Bayesian baselines."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefed.learn.base import Lesson, Rows, blocks, gradient
from surefed.learn.functional import Network


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
        start = mean.expand(rows, -1).contiguous()
        moments = (torch.zeros_like(start),)
        return Rows(
            start, torch.full_like(start, self.rho), moments, torch.zeros(rows, dtype=torch.int64, device=start.device)
        )

    @torch.no_grad()
    def learn(self, rows: Rows, lesson: Lesson, active: Tensor | None = None) -> None:
        """All batches of the round, block after block."""
        for part in blocks(len(rows.steps), rows.mean.shape[1], active, rows.mean.device):
            block, batches = rows[part], lesson.batches[part]
            (buffer,) = block.moments
            if not self.keep_moments:
                buffer.zero_()
                block.steps.zero_()
            for turn in range(batches.shape[1]):
                seen = batches[:, turn]
                slope = gradient(self.network, block.mean.clone(), lesson.inputs[seen], lesson.labels[seen])
                buffer.mul_(self.momentum).add_(slope)
                block.mean.sub_(buffer, alpha=self.learning_rate)
                block.steps += 1
            if isinstance(part, Tensor):  # a slice is a view, already written
                rows[part] = block
