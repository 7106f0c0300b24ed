"""The paper's network for CIFAR-10."""

from __future__ import annotations

from typing import Literal

from torch import nn

from surefed.core import DataError
from surefed.models.base import Shortcut, Sum

GROUPS = 8


def resnet20(shape: tuple[int, ...], classes: int, *, norm: Literal["group", "batch"] = "group") -> nn.Module:
    """Three stages of three residual blocks with 16, 32 and 64 channels (He et al. 2016, section 4.2).

    269 722 weights for colour images and 10 classes: 267 696 in the convolutions, 1 376 in the norms, 650 in the last
    layer. It is the same number with either norm.

    Args:
        norm: `group` normalises each sample by itself, and every weight is part of the belief. `batch` is He's: its
            running statistics stay with the client, and its own weights are averaged without being inspected.
    """
    if len(shape) != 3:
        raise DataError(f"resnet20 needs images of shape (channels, height, width), not {shape}")

    def normal(channels: int) -> nn.Module:
        return nn.GroupNorm(GROUPS, channels) if norm == "group" else nn.BatchNorm2d(channels)

    def convolution(inside: int, outside: int, stride: int = 1) -> nn.Module:
        made = nn.Conv2d(inside, outside, 3, stride=stride, padding=1, bias=False)
        nn.init.kaiming_normal_(made.weight, mode="fan_out", nonlinearity="relu")  # He et al. 2015
        return made

    def block(inside: int, outside: int) -> list[nn.Module]:
        stride = 1 if inside == outside else 2
        body = nn.Sequential(
            convolution(inside, outside, stride),
            normal(outside),
            nn.ReLU(),
            convolution(outside, outside),
            normal(outside),
        )
        return [Sum(body, nn.Identity() if stride == 1 else Shortcut(outside)), nn.ReLU()]

    layers = [convolution(shape[0], 16), normal(16), nn.ReLU()]
    for inside, outside in ((16, 16), (16, 32), (32, 64)):
        layers += block(inside, outside) + block(outside, outside) + block(outside, outside)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))
