"""Learn a belief by natural gradients: IVON (Shen et al. 2024), Newton's method on the mean, curvature as precision.

With weights drawn as mean + std * eps, g the gradient of the mean loss there, n how many samples count, a prior
N(centre, width^2), d = 1 / (n width^2) and p = h + d = 1 / (n std^2), a step t is, weight by weight:

    c = g * eps / std                                     the curvature: its mean is the second derivative (Stein)
    m <- b1 m + (1 - b1) g                                the momentum
    h <- b2 h + (1 - b2) c + (1 - b2)^2 (h - c)^2 / (2 p)  the last term keeps p positive (Lin et al. 2020)
    mean <- mean - pace (m / (1 - b1^t) + d (mean - centre)) / p

The std is the belief's own, so that what neighbours brought is where the next step begins. The pace is such that a
weight which is as uncertain as at the start moves by the learning rate, as in SGD.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from surefed.core import RHO_MAX, RHO_MIN
from surefed.learn.base import Lesson, Rows, begin, each_block, gradient
from surefed.learn.functional import Network
from surefed.learn.masks import Masks
from surefed.learn.variational import Prior


@dataclass(frozen=True)
class Ivon:
    """The learner. Every field is documented in `sim.experiment.Learn`."""

    network: Network
    learning_rate: float = 0.1
    rho: float = -3.0
    samples: int = 1
    prior: Prior = "streaming"
    prior_std: float | None = None
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
        counted = self._counted(lesson, part).to(block.mean.dtype)[:, None]
        centre, stiffness = self._prior(block, counted)
        std = softplus(block.rho)
        usual = softplus(torch.tensor(self.rho)).square().reciprocal().item()
        if certain is not None:
            stiffness = stiffness.masked_fill(certain, 0.0)
            std.masked_fill_(certain, 0.0)
        for turn in range(lesson.batches.shape[1]):
            slope, curvature = self._sight(block, std, lesson, part, turn)
            block.steps += 1
            momentum.lerp_(slope, 1.0 - decay)
            precision = 1.0 / (counted * std.square())
            precision += self._change(precision, precision - stiffness, curvature)
            if certain is not None:
                precision = torch.where(certain, usual / counted, precision)
            unbiased = momentum / (1.0 - decay ** block.steps.double()[:, None]).to(std.dtype)
            pull = stiffness * (block.mean - centre)
            block.mean.sub_(self.learning_rate * usual / counted * (unbiased + pull) / precision)
            std = (counted * precision).rsqrt()
            if certain is not None:
                std.masked_fill_(certain, 0.0)
        block.rho.copy_(std.expm1().log().clamp_(RHO_MIN, RHO_MAX))

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
        return slopes, torch.where(std > 0, curvatures / std.clamp_min(1e-12), 0.0)

    def _change(self, precision: Tensor, hessian: Tensor, curvature: Tensor) -> Tensor:
        """What a step adds to h; p stays positive: p + (1-b)(c-h) + (1-b)^2 (c-h)^2 / 2p >= p / 2."""
        rest = 1.0 - self.betas[1]
        gap = curvature - hessian
        return rest * gap + 0.5 * (rest * gap).square() / precision

    def _counted(self, lesson: Lesson, part: slice | Tensor) -> Tensor:
        """How many samples count: those of the round, or where the prior is fixed those of the client. [row]"""
        count, size = lesson.batches.shape[1:]
        sizes = lesson.sizes[part].double()
        return (torch.full_like(sizes, count * size) if self.prior == "streaming" else sizes) / self.kl_scale

    def _prior(self, block: Rows, counted: Tensor) -> tuple[Tensor, Tensor]:
        """What the KL pulls towards, and how hard: its mean and 1 / (lambda std^2). [row, weight] each"""
        if self.prior == "streaming":
            return block.mean.clone(), 1.0 / (counted * softplus(block.rho).square())
        width = softplus(torch.tensor(self.rho)).item() if self.prior_std is None else self.prior_std
        return torch.zeros_like(block.mean), (1.0 / (counted * width**2)).expand_as(block.mean)
