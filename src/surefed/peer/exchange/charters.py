"""Other sites' copies of the charter: what differs is told to the operator, amendments that we lack are offered."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from surefed.core import IdentityError
from surefed.peer.charter import Charter, differences, extended, parse_charter
from surefed.peer.refused import Reason, Refused

LOG = logging.getLogger("surefed.peer")
PAUSE = 60.0
"""Seconds before a site is asked for its charter again."""
DOUBT = frozenset({Reason.CHARTER, Reason.STRANGER, Reason.REVOKED, Reason.FORGED, Reason.CERTIFICATE})
"""Refusals that a newer or another charter would explain."""


class Charters:
    """Asks sites for their charters, each once in a while, and keeps the longest that continues ours."""

    def __init__(self, ask: Callable[[str], bytes | None]) -> None:
        self._ask = ask
        self._asked: dict[str, float] = {}
        self._longest: Charter | None = None

    def due(self, site: str) -> bool:
        """Whether it is time to ask a site; counts as asked."""
        now = time.monotonic()
        if now - self._asked.get(site, -PAUSE) < PAUSE:
            return False
        self._asked[site] = now
        return True

    def look(self, site: str, ours: Charter) -> None:
        """Ask a site for its charter and compare."""
        reply = self._ask(site)
        if not reply:
            return
        try:
            theirs = parse_charter(reply)
            if theirs.digest != ours.digest:
                LOG.warning("%s has another charter: %s", site, "; ".join(differences(ours, theirs)))
                return
            self._longest = extended(self._longest or ours, theirs)
        except (Refused, IdentityError) as error:
            LOG.warning("the charter of %s cannot be used: %s", site, error)

    def newer(self, ours: Charter) -> Charter | None:
        """The longest copy, if it is longer than ours."""
        longest = self._longest
        return longest if longest is not None and longest.amendment > ours.amendment else None
