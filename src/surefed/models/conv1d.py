"""A small convolution over one axis, for signals."""

from __future__ import annotations

from itertools import pairwise

from torch import nn

from surefed.core import DataError


def conv1d(shape: tuple[int, ...], classes: int, *, channels: tuple[int, ...] = (16, 32), width: int = 5) -> nn.Module:
    """Convolutions over time, each followed by ReLU and pooling by 2, then the mean over time and a linear layer.

    Signals are [channel, time]; the answer hardly changes when a signal is shifted.

    Args:
        channels: how many channels each convolution has.
        width: how many samples it sees at once; an odd number.
    """
    if not channels or any(count < 1 for count in channels):
        raise ValueError(f"channels must be a list of positive numbers, not {channels}")
    if width < 1 or width % 2 == 0:
        raise ValueError(f"width must be an odd number, not {width}")
    if len(shape) != 2 or shape[1] < 2 ** len(channels):
        raise DataError(
            f"conv1d needs signals of shape (channels, time), at least {2 ** len(channels)} long; not {shape}"
        )
    layers: list[nn.Module] = []
    for inside, outside in pairwise((shape[0], *channels)):
        layers += [nn.Conv1d(inside, outside, width, padding=width // 2), nn.ReLU(), nn.MaxPool1d(2)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(channels[-1], classes))
