"""A ring with one edge cut."""

from __future__ import annotations

import numpy as np

from surefed.graphs.base import Fixed, joined


def line(clients: int) -> Fixed:
    """Everybody hears the client before and the client after; the first and the last hear one each."""
    at = np.arange(clients - 1)
    return Fixed(joined(clients, at, at + 1))
