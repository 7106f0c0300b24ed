"""Logistic regression, or linear regression where labels are numbers."""

from __future__ import annotations

from math import prod

from torch import nn


def linear(shape: tuple[int, ...], classes: int) -> nn.Module:
    """One linear layer: logistic regression, or linear regression where labels are numbers."""
    return nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), classes))
