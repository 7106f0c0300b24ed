"""One client in the middle, which all others hear."""

from __future__ import annotations

import numpy as np

from surefed.graphs.base import Fixed, joined


def star(clients: int, *, centre: int = 0) -> Fixed:
    """Everybody hears the one in the centre, which hears everybody; nobody else hears each other."""
    if clients < 2:
        raise ValueError(f"a star needs a centre and somebody around it; use at least 2 clients, not {clients}")
    if not 0 <= centre < clients:
        raise ValueError(f"centre is a client's number from 0 to {clients - 1}, not {centre}")
    others = np.delete(np.arange(clients), centre)
    return Fixed(joined(clients, others, np.full_like(others, centre)))
