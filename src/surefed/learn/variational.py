"""Learn a belief: minimise the free energy KL[q || prior] - E_q[log P(data)] with Adam on (mean, rho).

Bayes by Backprop (Blundell et al. 2015): weights are drawn as mean + softplus(rho) * eps. Only the gradient g with
respect to the drawn weights needs automatic differentiation; the rest is closed form, std being softplus(rho):

    d/dmean = g + c (mean - prior_mean) / prior_std^2
    d/drho  = (g * eps + c (std - prior_std) (std + prior_std) / (std prior_std^2)) * sigmoid(rho)

With the streaming prior, the prior of a round is the row's own belief when the round begins, and the batches of the
round together pay the KL exactly once: c = share_b / batch_size, the shares adding up to 1.

Weights that have no posterior (`Network.certain`) keep the smallest std, are used without noise and pay no KL.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import softplus

from surefed.core import RHO_MAX, RHO_MIN, Round, Stream
from surefed.learn.base import Lesson, Rows, begin, each_block, gradient
from surefed.learn.fast import teach
from surefed.learn.functional import Network
from surefed.learn.half import DITHER, Moments, keep
from surefed.learn.masks import Masks
from surefed.learn.native import Recipe

Prior = Literal["streaming", "fixed"]
KLWeights = Literal["uniform", "blundell"]


def kl_shares(batches: int, weights: KLWeights) -> list[float]:
    """How much of the KL each batch pays; the shares add up to 1.

    uniform: 1/M each. blundell: 2^(M-i) / (2^M - 1), i = 1..M (Blundell et al. 2015, section 3.4).
    """
    if weights == "uniform":
        return [1.0 / batches] * batches
    return [2.0 ** -(turn + 1) / (1.0 - 2.0**-batches) for turn in range(batches)]


@functools.lru_cache(maxsize=16)
def _shares(batches: int, weights: KLWeights, device: torch.device) -> Tensor:
    """The same on a device, sent there once: a GPU would have to be waited for. float64 [batch]"""
    return torch.tensor(kl_shares(batches, weights), dtype=torch.float64, device=device)


@dataclass(frozen=True)
class Variational:
    """The paper's learner. Every field is documented in `sim.experiment.Learn`."""

    network: Network
    learning_rate: float = 1e-3
    rho: float = -3.0
    samples: int = 1
    prior: Prior = "streaming"
    prior_std: float | None = None
    kl_weights: KLWeights = "uniform"
    kl_scale: float = 1.0
    keep_moments: bool = True
    moments: Moments = "float32"
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def init(self, mean: Tensor, rows: int) -> Rows:
        """Rows that all start from the same mean and the same rho."""
        return begin(self.network, mean, self.rho, rows, moments=4, dtype=getattr(torch, self.moments))

    @torch.no_grad()
    def learn(self, rows: Rows, lesson: Lesson, active: Tensor | None = None) -> None:
        """All batches of the round: by the kernels of the machine where it has some, else block after block."""
        if self.samples == 1 and teach(self.network, rows, lesson, active, self._recipe(lesson)):
            return
        for part, block in each_block(self.network, rows, lesson, active):
            self._learn_block(block, lesson, part)

    def _learn_block(self, block: Rows, lesson: Lesson, part: slice | Tensor) -> None:
        if not self.keep_moments:
            block.steps.zero_()
            for moment in block.moments:
                moment.zero_()
        certain = self.network.certain
        if certain is not None:
            block.rho.masked_fill_(certain, RHO_MIN)
        prior = self._prior(block)
        batches, noise = lesson.batches[part], lesson.noise[part]
        count = batches.shape[1]
        costs = self._costs(lesson, part).to(block.mean.dtype)
        for turn in range(count):
            seen = batches[:, turn]  # [row, sample]
            sight = lesson.inputs[seen], lesson.labels[seen]
            std = _softplus(block.rho)
            if certain is not None:
                std.masked_fill_(certain, 0.0)
            slope_mean, slope_std = self._slopes(block, std, *sight, noise, lesson.round, turn)
            if turn > 0 or self.prior == "fixed":  # in the first batch a belief is its own prior, and the pull is 0
                self._pull(slope_mean, slope_std, block.mean, std, prior, costs[:, turn, None])
            slope_std *= block.rho.sigmoid()
            if certain is not None:
                slope_std.masked_fill_(certain, 0.0)
            block.steps += 1
            dither = None
            if self.moments == "bfloat16":
                dither = noise.bits(block.mean.shape[1], round=lesson.round, draw=DITHER + turn)
            self._adam(block.mean, slope_mean, block.moments[0], block.moments[1], block.steps, dither)
            self._adam(block.rho, slope_std, block.moments[2], block.moments[3], block.steps, dither)
            block.rho.clamp_(RHO_MIN, RHO_MAX)

    def _costs(self, lesson: Lesson, part: slice | Tensor = slice(None)) -> Tensor:
        """What the KL costs each row in each batch. float64 [row, batch]

        The batches of a round of the streaming prior, or of a pass over the data of the fixed one, pay it once.
        """
        count, size = lesson.batches.shape[1:]
        shares = _shares(count, self.kl_weights, lesson.sizes.device)
        samples = torch.full_like(lesson.sizes[part], size) if self.prior == "streaming" else lesson.sizes[part] / count
        return self.kl_scale * shares / samples[:, None]

    def _recipe(self, lesson: Lesson) -> Recipe:
        return Recipe(
            self.learning_rate,
            self.keep_moments,
            cost=self._costs(lesson),
            prior_std=None if self.prior == "streaming" else self._prior_std(),
            decay=self.betas[0],
            decay_squares=self.betas[1],
            epsilon=self.epsilon,
        )

    def _prior_std(self) -> float:
        """The std of the fixed prior."""
        return softplus(torch.tensor(self.rho)).item() if self.prior_std is None else self.prior_std

    @staticmethod
    def _pull(
        slope_mean: Tensor, slope_std: Tensor, mean: Tensor, std: Tensor, prior: tuple[Tensor, Tensor], cost: Tensor
    ) -> None:
        """Add the gradient of cost * KL, in place; exactly 0 where a belief is its prior. cost: [row, 1]"""
        centre, width = prior
        stiffness = cost / width.square()
        slope_mean.addcmul_(mean - centre, stiffness)
        slope_std.add_(((std - width) * (std + width)).mul_(stiffness).div_(std))

    def _slopes(
        self, block: Rows, std: Tensor, inputs: Tensor, labels: Tensor, noise: Stream, round: Round, turn: int
    ) -> tuple[Tensor, Tensor]:
        """Gradient of the expected loss with respect to mean and std, from `samples` weight draws."""
        slopes: list[tuple[Tensor, Tensor]] = []
        for draw in range(self.samples):
            masks = Masks(noise, round, turn * self.samples + draw)
            eps = noise.normal(std.shape[1], round=round, draw=masks.draw)
            weights = torch.addcmul(block.mean, std, eps)
            slope = gradient(self.network, weights, inputs, labels, masks, block.buffers)
            slopes.append((slope, eps.mul_(slope)))
        if self.samples == 1:
            return slopes[0]
        by_mean, by_std = zip(*slopes, strict=True)
        return torch.stack(by_mean).mean(0), torch.stack(by_std).mean(0)

    def _prior(self, block: Rows) -> tuple[Tensor, Tensor]:
        """Mean and std that the KL pulls towards. [row, weight] each"""
        if self.prior == "streaming":
            centre, width = block.mean.clone(), _softplus(block.rho)
        else:
            centre = torch.zeros_like(block.mean)
            width = torch.full_like(centre, self._prior_std())
        if self.network.certain is not None:
            width.masked_fill_(self.network.certain, torch.inf)
        return centre, width

    def _adam(
        self, value: Tensor, slope: Tensor, first: Tensor, second: Tensor, steps: Tensor, dither: Tensor | None
    ) -> None:
        """Adam (Kingma and Ba 2015), each row with its own step count.

        dither: random bits to round by, where the moments are kept in bfloat16. int64 [row, weight]
        """
        if dither is not None:
            kept, (first, second) = (first, second), (first.float(), second.float())
        decay, decay_squares = self.betas
        taken = steps.double()[:, None]
        rest = (1.0 - decay_squares**taken).sqrt()
        pace = (self.learning_rate * rest / (1.0 - decay**taken)).to(value.dtype)
        first.lerp_(slope, 1.0 - decay)
        second.mul_(decay_squares).addcmul_(slope, slope, value=1.0 - decay_squares)
        spread = second.sqrt().add_((self.epsilon * rest).to(value.dtype)).div_(pace)
        value.addcdiv_(first, spread, value=-1.0)
        if dither is not None:
            keep(first, kept[0], dither >> 16)
            keep(second, kept[1], dither & 0xFFFF)


def _softplus(rho: Tensor) -> Tensor:
    """log(1 + exp(rho)), for a rho of at most RHO_MAX."""
    return rho.exp().log1p_()
