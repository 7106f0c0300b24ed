"""How often something may happen: so many at once, then so many a second."""

from __future__ import annotations

import time


class Bucket:
    """Holds `most` and refills at `rate` a second."""

    def __init__(self, most: float, rate: float) -> None:
        self._most, self._rate = most, rate
        self._level, self._at = most, time.monotonic()

    @property
    def empty(self) -> bool:
        """Whether none is left now."""
        now = time.monotonic()
        self._level = min(self._most, self._level + self._rate * (now - self._at))
        self._at = now
        return self._level < 1

    def take(self) -> bool:
        """Take one, if there is one."""
        if self.empty:
            return False
        self._level -= 1
        return True
