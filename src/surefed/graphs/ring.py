"""Everybody hears the client before and the client after."""

from __future__ import annotations

import numpy as np

from surefed.graphs.base import Fixed, joined


def ring(clients: int) -> Fixed:
    """Everybody hears the client before and the client after; the last is followed by the first."""
    at = np.arange(clients)
    return Fixed(joined(clients, at, (at + 1) % clients))
