"""Learn a belief by natural gradients: IVON (Shen et al. 2024), Newton's method on the mean, curvature as precision.

With weights drawn as mean + std * eps, g the gradient of the mean loss there, n how many samples the client has, a
prior N(0, width^2), d = 1 / (n width^2) and p = h + d = 1 / (n std^2), a step t is, weight by weight:

    c = g * eps / std                                     the curvature: its mean is the second derivative (Stein)
    m <- b1 m + (1 - b1) g                                the momentum
    h <- b2 h + (1 - b2) c + (1 - b2)^2 (h - c)^2 / (2 p)  the last term keeps p positive (Lin et al. 2020)
    mean <- mean - rate (m / (1 - b1^t) + d mean) / p

The std is the belief's own, so that what neighbours brought is where the next step begins. A rate of 1 would be
Newton's whole step. b2 is 0.999, less than its authors', who learn for longer. Weights that have no posterior
(`Network.certain`) are learned by SGD with the same momentum and rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from surefed.core import RHO_MIN, STD_MAX, STD_MIN, rho_of
from surefed.learn.base import Lesson, Rows, begin, each_block, gradient
from surefed.learn.functional import Network
from surefed.learn.masks import Masks


@dataclass(frozen=True)
class Ivon:
    """The learner. The fields, but for `betas`, are documented in `sim.experiment.Learn`."""

    network: Network
    learning_rate: float = 0.01
    rho: float = -3.0
    samples: int = 1
    prior_std: float = 0.3
    kl_scale: float = 1.0
    keep_moments: bool = True
    betas: tuple[float, float] = (0.9, 0.999)

    def init(self, mean: Tensor, rows: int) -> Rows:
        """Rows that all start from the same mean and the same rho; the momentum is all they remember besides."""
        return begin(self.network, mean, self.rho, rows, moments=1)

    @torch.no_grad()
    def learn(self, rows: Rows, lesson: Lesson, active: Tensor | None = None) -> None:
        """All batches of the round, block after block."""
        for part, block in each_block(self.network, rows, lesson, active):
            self._learn_block(block, lesson, part)

    def _learn_block(self, block: Rows, lesson: Lesson, part: slice | Tensor) -> None:
        (momentum,) = block.moments
        if not self.keep_moments:
            block.steps.zero_()
            momentum.zero_()
        certain, decay = self.network.certain, self.betas[0]
        counted = (lesson.sizes[part].double() / self.kl_scale).to(block.mean.dtype)[:, None]
        stiffness = 1.0 / (counted * self.prior_std**2)
        std = softplus(block.rho)
        for turn in range(lesson.batches.shape[1]):
            if certain is not None:
                std = std.masked_fill(certain, 0.0)
            slope, curvature = self._sight(block, std, lesson, part, turn)
            block.steps += 1
            momentum.lerp_(slope, 1.0 - decay)
            unbiased = momentum / (1.0 - decay ** block.steps.double()[:, None]).to(std.dtype)
            precision = 1.0 / (counted * std.clamp_min(STD_MIN).square())
            precision += self._change(precision, precision - stiffness, curvature)
            std = (counted * precision).rsqrt().clamp_(STD_MIN, STD_MAX)
            step = (unbiased + stiffness * block.mean) * counted * std.square()
            block.mean.sub_(self.learning_rate * (step if certain is None else torch.where(certain, unbiased, step)))
        block.rho.copy_(rho_of(std))
        if certain is not None:
            block.rho.masked_fill_(certain, RHO_MIN)

    def _sight(
        self, block: Rows, std: Tensor, lesson: Lesson, part: slice | Tensor, turn: int
    ) -> tuple[Tensor, Tensor]:
        """Gradient and curvature of the mean loss of a batch, from `samples` weight draws. [row, weight] each"""
        seen, noise = lesson.batches[part][:, turn], lesson.noise[part]
        inputs, labels = lesson.inputs[seen], lesson.labels[seen]
        slopes, curvatures = torch.zeros_like(std), torch.zeros_like(std)
        for draw in range(self.samples):
            masks = Masks(noise, lesson.round, turn * self.samples + draw)
            eps = noise.normal(std.shape[1], round=lesson.round, draw=masks.draw)
            weights = torch.addcmul(block.mean, std, eps)
            slope = gradient(self.network, weights, inputs, labels, masks, block.buffers)
            slopes += slope / self.samples
            curvatures += slope * eps / self.samples
        return slopes, curvatures / std.clamp_min(STD_MIN)

    def _change(self, precision: Tensor, hessian: Tensor, curvature: Tensor) -> Tensor:
        """What a step adds to h; p stays positive: p + x + x^2 / 2p >= p / 2. A step changes p tenfold at the most."""
        most = 4.0 * precision
        gap = ((1.0 - self.betas[1]) * (curvature - hessian)).clamp(-most, most)
        return gap + 0.5 * gap.square() / precision
