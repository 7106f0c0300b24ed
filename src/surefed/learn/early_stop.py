"""Stop a local belief once it has started to do worse on its owner's held-out samples."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Watch(NamedTuple):
    """What each client remembers about its local belief. All are [client].

    best: the best held-out mark so far. below: rounds in a row spent under it. learning: still learning.
    """

    best: Tensor
    below: Tensor
    learning: Tensor


def start(clients: int, device: torch.device | str = "cpu") -> Watch:
    """Everybody learns, nothing has been seen."""
    return Watch(
        torch.full((clients,), -torch.inf, device=device),
        torch.zeros(clients, dtype=torch.int64, device=device),
        torch.ones(clients, dtype=torch.bool, device=device),
    )


def look(watch: Watch, mark: Tensor, patience: int) -> Watch:
    """Stop whoever has been below its best for `patience` rounds in a row; a stopped belief never resumes.

    mark: [client], the higher the better, such as the accuracy on held-out samples of the client's own training data.
    """
    falling = mark < watch.best
    below = torch.where(falling, watch.below + 1, 0)
    best = torch.maximum(watch.best, mark)
    return Watch(best, below, watch.learning & (below < patience))
