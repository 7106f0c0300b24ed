"""Where a site stands among its neighbours, and when it has fallen so far behind that it must jump.

A site that is behind every live neighbour, further than they still serve, jumps to the least round that any of them
claims. So nobody can push it beyond an honest neighbour, whatever they claim; who claims too little only makes it catch
up more slowly. One that is behind by less does not jump but hurries: it waits for nobody who has not announced its
round yet, or it would stay behind for ever where a silent member makes every round last. A neighbour whose claim has
not moved for a few deadlines is not live: it cannot hold the others back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

STILL = 3.0
"""Deadlines without a newer round after which a neighbour counts as standing still."""


class Pace:
    """What the neighbours claimed, and when each claim last moved."""

    def __init__(self, deadline: float, keep: int) -> None:
        self._deadline, self._keep = deadline, keep
        self._claims: dict[str, tuple[int, float]] = {}

    def note(self, claims: Mapping[str, int], now: float) -> None:
        """Take down the newest verified round of each neighbour."""
        for site, round in claims.items():
            if site not in self._claims or round > self._claims[site][0]:
                self._claims[site] = (round, now)

    def live(self, sites: Collection[str], now: float) -> dict[str, int]:
        """The newest round of those among the sites whose claim moved lately."""
        since = now - STILL * self._deadline
        return {
            site: self._claims[site][0] for site in sites if site in self._claims and self._claims[site][1] >= since
        }

    def late(self, round: int, sites: Collection[str], now: float) -> bool:
        """Whether every live neighbour has gone beyond this round: nobody waits for it any more."""
        claims = self.live(sites, now)
        return bool(claims) and min(claims.values()) > round

    def jump(self, round: int, sites: Collection[str], now: float) -> int:
        """The round to go on with instead of `round`: a later one only if no live neighbour still serves this one."""
        claims = self.live(sites, now)
        if not claims:
            return round
        least = min(claims.values())
        return least if least - round >= self._keep else round
