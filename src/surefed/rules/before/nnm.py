"""Nearest-neighbour mixing: every message becomes the average of those nearest to it."""

from __future__ import annotations

import torch
from torch import Tensor

from surefed.rules.before.base import Before, Mixes


def nnm(*, malicious: int | None = None) -> Before:
    """Replace every message by the average of the n - f messages nearest to it, itself included (Allouah et al. 2023).

    Of equally near ones, those that come first. At least one is left, the message itself.

    Args:
        malicious: f; None is the number of malicious senders heard, which it is told.
    """
    if malicious is not None and malicious < 0:
        raise ValueError(f"malicious is a number of senders, 0 or more, not {malicious}")

    def mixes(apart: Tensor, liars: int, round: int) -> Mixes:
        count = len(apart)
        nearest = max(1, count - (liars if malicious is None else malicious))
        order = apart.clone().fill_diagonal_(-1.0).argsort(dim=1, stable=True)[:, :nearest]
        weight = torch.zeros_like(apart).scatter_(1, order, 1.0 / nearest)
        return Mixes(weight, torch.arange(count, device=apart.device))

    return Before(mixes, needs=frozenset() if malicious is not None else frozenset({"malicious"}))
