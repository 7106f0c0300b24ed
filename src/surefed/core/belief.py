"""A belief is a diagonal Gaussian over the flat weights of a model; everything else passes these around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from surefed.core import cuda

STD_MIN = 1e-6
"""Smaller standard deviations are read as this one, so that a precision is never infinite."""

STD_MAX = 10.0
"""Larger standard deviations are read as this one, so that a precision is never zero."""


def rho_of(std: Tensor) -> Tensor:
    """The rho whose softplus is `std`: log(exp(std) - 1), without overflow or cancellation."""
    return std + torch.log(-torch.expm1(-std))


RHO_MIN, RHO_MAX = rho_of(torch.tensor([STD_MIN, STD_MAX], dtype=torch.float64)).tolist()
"""The rhos of the smallest and the largest std."""


@dataclass(frozen=True, slots=True)
class Belief:
    """A diagonal Gaussian over flat weights; leading axes stack clients.

    mean, rho: [..., weight]. The standard deviation is softplus(rho), so it is never negative.
    """

    mean: Tensor
    rho: Tensor

    def __post_init__(self) -> None:
        if self.mean.shape != self.rho.shape:
            raise ValueError(f"mean has shape {tuple(self.mean.shape)} but rho has {tuple(self.rho.shape)}")

    @property
    def std(self) -> Tensor:
        """Standard deviation of each weight, softplus(rho)."""
        return softplus(self.rho)

    @property
    def weights(self) -> int:
        """How many weights the model has."""
        return self.mean.shape[-1]

    def __len__(self) -> int:
        return self.mean.shape[0]

    def __getitem__(self, part: int | slice | Tensor | tuple[slice, slice]) -> Belief:
        """Some of the clients, or `[clients, weights]`."""
        return Belief(self.mean[part], self.rho[part])

    def rounded(self) -> Belief:
        """Every number to the nearest bfloat16, as a message of half the size has it; float32 again."""
        return Belief(self.mean.bfloat16().float(), self.rho.bfloat16().float())

    def finite(self) -> Tensor:
        """Which rows hold only finite numbers. bool [...]"""
        if self.mean.dim() == 2 and cuda.fits(self.mean, self.rho):
            from surefed.core.cuda.edges import finite  # here, because it needs Triton

            return finite(self.mean, self.rho)
        # A sum is finite only if no term is NaN or infinite; only doubtful rows pay for a look at every weight.
        certain = torch.isfinite(self.mean.sum(-1) + self.rho.sum(-1))
        if bool(certain.all()):
            return certain
        return torch.isfinite(self.mean).all(-1) & torch.isfinite(self.rho).all(-1)

    def clone(self) -> Belief:
        """A copy that shares no memory."""
        return Belief(self.mean.clone(), self.rho.clone())

    @classmethod
    def constant(cls, mean: Tensor, std: float) -> Belief:
        """The belief with this mean and the same std for every weight."""
        return cls(mean, torch.full_like(mean, float(rho_of(torch.tensor(std, dtype=torch.float64)))))


def stack(messages: Sequence[Belief | None], weights: int) -> tuple[Belief, Tensor]:
    """Stack what strangers sent; tell which of it can be a belief about `weights` weights at all.

    A missing message, one of the wrong length, or one with a NaN or an infinity gets a row of zeros and
    False in the mask, so that nothing it holds can reach a sum. Returns ([sender, weight], bool [sender]).
    """
    mean = torch.zeros(len(messages), weights)
    rho = torch.zeros(len(messages), weights)
    valid = torch.zeros(len(messages), dtype=torch.bool)
    for row, message in enumerate(messages):
        if message is None or message.mean.shape != (weights,) or not bool(message.finite()):
            continue
        mean[row], rho[row], valid[row] = message.mean, message.rho, True
    return Belief(mean, rho), valid
