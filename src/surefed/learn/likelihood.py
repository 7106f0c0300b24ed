"""What the outputs of a network say about labels: probabilities of classes, or numbers with Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WORST = 1e30
"""What an error that is no number, or beyond all measure, counts as in regression: figures stay numbers."""


class Figure(NamedTuple):
    """A figure of merit of every row, and which way is better. values: [row]"""

    values: Tensor
    better: Literal["higher", "lower"]


class Likelihood(Protocol):
    """What a network's outputs mean.

    unit, answer: what the data has, and what a network must return as many of; for messages.
    """

    @property
    def unit(self) -> str:
        """What the data has."""

    @property
    def answer(self) -> str:
        """What a network returns."""

    def complete(self, module: nn.Module, count: int) -> nn.Module:
        """The module with whatever else has to be learned; count: how many classes or targets there are."""

    def outputs(self, count: int) -> int:
        """How many numbers the completed module returns for a sample."""

    def energy(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """-log P(label), averaged over samples, summed over rows. outputs, labels: [row, sample, ...]"""

    def predictive(self, drawn: Iterable[Tensor]) -> Tensor:
        """What outputs under one or several draws of the weights predict together. [row, sample, ...]"""

    def losses(self, predicted: Tensor, labels: Tensor) -> Tensor:
        """-log P(label) of every sample under what was predicted. labels: [sample, ...] -> [row, sample]"""

    def marks(self, predicted: Tensor, labels: Tensor) -> Tensor:
        """How good every prediction is, the higher the better, to be averaged. [row, sample]"""

    def figures(self, predicted: Tensor, labels: Tensor) -> dict[str, Figure]:
        """What people look at, by name, the most telling first."""


@dataclass(frozen=True, slots=True)
class Categorical:
    """Outputs are scores of classes, probabilities their softmax. labels: int64. predicted: the probabilities."""

    unit: str = "classes"
    answer: str = "scores"

    def complete(self, module: nn.Module, count: int) -> nn.Module:
        """Nothing else has to be learned."""
        return module

    def outputs(self, count: int) -> int:
        """A score for each class."""
        return count

    def energy(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy."""
        return F.cross_entropy(outputs.flatten(0, 1), labels.flatten(), reduction="sum") / labels.shape[1]

    def predictive(self, drawn: Iterable[Tensor]) -> Tensor:
        """The mean of the probabilities, not of the scores. float32 [row, sample, class]"""
        total, count = torch.zeros(()), 0
        for count, outputs in enumerate(drawn, 1):
            total = outputs.softmax(-1) if count == 1 else total + outputs.softmax(-1)
        return total if count == 1 else total / count

    def losses(self, predicted: Tensor, labels: Tensor) -> Tensor:
        """Counted as at most 100."""
        return losses(predicted, labels)

    def marks(self, predicted: Tensor, labels: Tensor) -> Tensor:
        """1 where the most probable class is the label, else 0, also where a probability is no number."""
        return ((predicted.argmax(-1) == labels) & ~predicted.isnan().any(-1)).float()

    def figures(self, predicted: Tensor, labels: Tensor) -> dict[str, Figure]:
        """The share of samples whose class is right."""
        return {"accuracy": Figure(accuracy(predicted, labels), "higher")}


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Outputs are means of numbers that scatter with a Gaussian noise of this std. labels: float32 [..., target].

    noise: the std, or None to learn it: one more weight per target, its logarithm, with a belief and shared as any
    other. predicted: the means and then the stds. [row, sample, 2 * target]
    """

    noise: float | None = 1.0
    unit: str = "targets"
    answer: str = "numbers"

    def complete(self, module: nn.Module, count: int) -> nn.Module:
        """The module, followed by the noise if that is learned."""
        if self.noise is not None:
            return module
        like = next(module.parameters(), torch.zeros(0))  # the same type and device
        return nn.Sequential(module, LogNoise(like.detach().new_zeros(count)))

    def outputs(self, count: int) -> int:
        """A mean for each target, and the logarithm of its std if that is learned."""
        return count if self.noise is not None else 2 * count

    def energy(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Gaussian negative log-likelihood, summed over targets."""
        mean, log_std = self._read(outputs)
        return _gaussian(mean, log_std, labels).sum() / labels.shape[1]

    def predictive(self, drawn: Iterable[Tensor]) -> Tensor:
        """Mean and std of the mixture: its variance is the mean noise variance plus the variance of the means."""
        mean = noise = spread = torch.zeros((), dtype=torch.float64)
        count = 0
        for count, outputs in enumerate(drawn, 1):
            centre, log_std = (part.double() for part in self._read(outputs))
            before = mean
            mean = mean + (centre - mean) / count
            spread = spread + (centre - before) * (centre - mean)  # Welford 1962
            noise = noise + (2 * log_std).exp()
        return torch.cat([mean, ((noise + spread) / count).sqrt()], dim=-1).float()

    def losses(self, predicted: Tensor, labels: Tensor) -> Tensor:
        """Negative log-density, summed over targets."""
        mean, std = predicted.double().chunk(2, dim=-1)
        return _counted(_gaussian(mean, std.log(), labels.double()).sum(-1)).float()

    def marks(self, predicted: Tensor, labels: Tensor) -> Tensor:
        """Minus the squared error, averaged over targets."""
        return -_squares(predicted, labels).mean(-1).float()

    def figures(self, predicted: Tensor, labels: Tensor) -> dict[str, Figure]:
        """rmse: the root of the mean squared error. r2: the share of the labels' variance that is explained."""
        squares = _squares(predicted, labels)  # [row, sample, target]
        about_mean = (labels.double() - labels.double().mean(0)).square().mean().clamp_min(1e-30)
        error = squares.mean((-2, -1))
        return {
            "rmse": Figure(error.sqrt(), "lower"),
            "r2": Figure(1.0 - (error / about_mean).clamp_max(WORST), "higher"),
        }

    def _read(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """Means and the logarithms of the stds. [..., target] each"""
        if self.noise is None:
            mean, log_std = outputs.chunk(2, dim=-1)
            return mean, log_std
        return outputs, torch.full_like(outputs, math.log(self.noise))


class LogNoise(nn.Module):
    """Lets means through and puts behind them the logarithm of each target's std, the same for every input."""

    def __init__(self, start: Tensor) -> None:
        super().__init__()
        self.log_noise = nn.Parameter(start)

    def forward(self, means: Tensor) -> Tensor:
        """[..., target] -> [..., 2 * target]"""
        return torch.cat([means, self.log_noise.expand(*means.shape[:-1], -1)], dim=-1)


def _gaussian(mean: Tensor, log_std: Tensor, labels: Tensor) -> Tensor:
    return 0.5 * ((labels - mean) * (-log_std).exp()).square() + log_std + 0.5 * math.log(math.tau)


def _counted(errors: Tensor) -> Tensor:
    return errors.nan_to_num(WORST, WORST, WORST).clamp_max(WORST)


def _squares(predicted: Tensor, labels: Tensor) -> Tensor:
    mean, _ = predicted.double().chunk(2, dim=-1)
    return _counted((mean - labels.double()).square())


def accuracy(probabilities: Tensor, labels: Tensor) -> Tensor:
    """Share of samples on which the most probable class is the label. [row]

    A row with a NaN, the ruin of a network fed with poisoned weights, gets 0 for that sample.
    """
    return Categorical().marks(probabilities, labels).mean(-1)


def losses(probabilities: Tensor, labels: Tensor) -> Tensor:
    """-log p(label) of every sample, counted as at most 100. [row, sample]"""
    chosen = probabilities.gather(-1, labels.expand(probabilities.shape[:-1]).unsqueeze(-1)).squeeze(-1)
    return (-chosen.nan_to_num(0.0).log()).clamp_max(100.0)


def log_loss(probabilities: Tensor, labels: Tensor) -> Tensor:
    """Mean of -log p(label). [row]"""
    return losses(probabilities, labels).mean(-1)
