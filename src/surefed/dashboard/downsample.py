"""Fewer points that draw the same curve: of every stretch of rounds, its lowest and its highest value."""

from __future__ import annotations

from typing import Any

import numpy as np

Numbers = np.ndarray[Any, Any]


def extremes(values: Numbers, most: int) -> Numbers:
    """The places of at most `most` values, in order: first, last, and the extremes of equal stretches between.

    No peak is lost, so the curve drawn through them covers the same pixels. Places of NaN are left out.
    """
    places = np.flatnonzero(np.isfinite(values))
    if len(places) <= most:
        return places
    stretches = np.array_split(places[1:-1], max(1, (most - 2) // 2))
    lowest = [stretch[np.argmin(values[stretch])] for stretch in stretches]
    highest = [stretch[np.argmax(values[stretch])] for stretch in stretches]
    return np.unique([places[0], *lowest, *highest, places[-1]])


def evenly(count: int, most: int) -> list[int]:
    """At most `most` places among `count`, evenly spread, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(at) for at in np.linspace(0, count - 1, most)})
