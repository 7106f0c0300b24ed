"""A multilayer perceptron."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from torch import nn


def mlp(shape: tuple[int, ...], classes: int, *, hidden: tuple[int, ...] = (32,)) -> nn.Module:
    """Linear layers with ReLU between them; `hidden` gives their widths."""
    if any(width < 1 for width in hidden):
        raise ValueError(f"hidden widths must be positive, not {hidden}")
    widths = (prod(shape), *hidden, classes)
    layers: list[nn.Module] = [nn.Flatten()]
    for inner, outer in pairwise(widths):
        layers += [nn.Linear(inner, outer), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
