"""Edges that go missing and come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from surefed.graphs.base import Derived
from surefed.graphs.drop_edges import dropping


def time_varying(
    clients: int,
    seed: int,
    ids: Sequence[str],
    *,
    every: int = 100,
    share: float = 0.2,
    of: str = "complete",
    of_options: Mapping[str, Any] | None = None,
) -> Derived:
    """Another graph with a share of its edges missing, others every so many rounds: the paper's 20 % and 100 rounds.

    Rounds 0 .. every-1 are those of the graph `drop_edges`.
    """
    if every < 1:
        raise ValueError(f"every, the rounds between two draws, is at least 1, not {every}")
    return dropping(clients, seed, ids, share=share, of=of, of_options=of_options, every=every)
