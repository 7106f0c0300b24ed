"""What came of a round: whose beliefs arrived, who is missing and why, whose messages were refused."""

from __future__ import annotations

from dataclasses import dataclass

Counts = dict[str, dict[str, int]]
"""Site -> reason -> how many."""


@dataclass(frozen=True, slots=True)
class Received:
    """A belief as bytes, whole and checked, and the round that it is of."""

    round: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Heard:
    """Everybody expected is in exactly one of `beliefs`, `missing` (with why) and `malformed` (with the reason).

    refused: what was refused since the round before, by the site in whose name it came; some of these were heard too.
    """

    beliefs: dict[str, Received]
    missing: dict[str, str]
    malformed: dict[str, str]
    refused: Counts
