"""Krum: take over the one sender that is nearest to its nearest."""

from __future__ import annotations

from surefed.rules.base import Nothing, Rule
from surefed.rules.multi_krum import multi_krum


def krum(*, malicious: int | None = None) -> Rule[Nothing]:
    """Take over the one neighbour that lies closest to its n - f - 2 closest others (Blanchard et al. 2017).

    The paper asks for n > 2f + 2. Beyond that the rule goes on with what is left, at least one closest other: f is cut
    to n - 3. Of equal scores, which the two closest senders always have when one other counts, the sender nearer to
    the receiver wins. Who hears nobody keeps its own belief. ByzFL (González et al. 2025) counts n - f - 1 closest
    others, so its f is f - 1 here, and of equal scores it takes the first sender.

    Args:
        malicious: f; None is the number of malicious senders heard, which it is told.
    """
    return multi_krum(malicious=malicious, chosen=1)
