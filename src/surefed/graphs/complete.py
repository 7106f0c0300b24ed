"""Everybody hears everybody."""

from __future__ import annotations

import torch

from surefed.graphs.base import Fixed


def complete(clients: int) -> Fixed:
    """Everybody hears everybody."""
    return Fixed(torch.ones(clients, clients, dtype=torch.bool))
