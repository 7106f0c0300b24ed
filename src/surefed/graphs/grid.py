"""Clients on a rectangle."""

from __future__ import annotations

import math

import numpy as np

from surefed.graphs.base import Fixed, joined


def grid(clients: int, *, rows: int | None = None, wrap: bool = False) -> Fixed:
    """Everybody hears up to four clients: above, below, left and right; with `wrap`, across the border as well.

    Clients fill the rows in order. Without `rows`, the rectangle is the one nearest to a square; a prime number of
    clients has none.
    """
    if rows is None:
        rows = max(side for side in range(1, math.isqrt(clients) + 1) if clients % side == 0)
        if rows == 1:
            raise ValueError(
                f"{clients} clients fill no rectangle but a line of 1 x {clients}; use a number of clients that is a "
                "product, such as 12 or 20, the graph 'line', or rows = 1 if a line is what you want"
            )
    if rows < 1 or clients % rows:
        fits = ", ".join(str(side) for side in range(1, clients + 1) if clients % side == 0)
        raise ValueError(f"{clients} clients do not fill {rows} rows; rows may be one of {fits}")
    at = np.arange(clients).reshape(rows, -1)
    if wrap:
        right, below = np.roll(at, -1, axis=1), np.roll(at, -1, axis=0)
        return Fixed(joined(clients, np.tile(at.ravel(), 2), np.concatenate([right.ravel(), below.ravel()])))
    one = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    other = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    return Fixed(joined(clients, one, other))
