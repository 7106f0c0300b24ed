"""Parts of networks that torch does not have; the class attributes tell `learn.stacked` how to stack them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Normalise(nn.Module):
    """(x - mean) / std, with a number for every channel or one for all; nothing of it is learned or shared.

    mean and std are neither parameters nor buffers, so that no belief covers them, but move with the module.
    """

    each_sample_alone = True

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.mean, self.std = torch.tensor(mean, dtype=torch.float32), torch.tensor(std, dtype=torch.float32)

    def forward(self, inputs: Tensor) -> Tensor:
        """Normalise inputs [sample, channel, ...]."""
        across = (-1, *[1] * (inputs.dim() - 2))
        return (inputs - self.mean.view(across)) / self.std.view(across)

    def extra_repr(self) -> str:
        """The figures, which are part of what a network computes."""
        return f"mean={self.mean.tolist()}, std={self.std.tolist()}"

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Normalise:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.mean, self.std = fn(self.mean), fn(self.std)
        return self


class Sum(nn.Module):
    """The sum of what its parts make of the same input: a residual block."""

    sums_children = True

    def __init__(self, *parts: nn.Module) -> None:
        super().__init__()
        for at, part in enumerate(parts):
            self.add_module(str(at), part)

    def forward(self, inputs: Tensor) -> Tensor:
        """Add up the children's outputs."""
        first, *others = [part(inputs) for part in self.children()]
        total: Tensor = sum(others, first)
        return total


class Shortcut(nn.Module):
    """Every second pixel, and channels of zeros around the given ones up to the asked number: no weights.

    Option A of He et al. (2016): half the new channels before the old ones, half after.
    """

    each_sample_alone = True

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels

    def forward(self, inputs: Tensor) -> Tensor:
        """[sample, channel, height, width] to half the height and width, rounded up."""
        more = self.channels - inputs.shape[1]
        return F.pad(inputs[:, :, ::2, ::2], (0, 0, 0, 0, more // 2, more - more // 2))

    def extra_repr(self) -> str:
        """How many channels come out."""
        return f"{self.channels}"
