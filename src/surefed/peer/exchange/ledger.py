"""What was refused, counted by site and reason; the first of each is logged and written down, the others only counted.

So the log and the file have at most one line for each site and reason, whatever is sent and however often.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from pathlib import Path

from surefed.core import StorageError
from surefed.peer.exchange.heard import Counts
from surefed.peer.refused import Refused
from surefed.records.atomic import append_line

LOG = logging.getLogger("surefed.peer")
UNKNOWN = "?"
"""Stands for whoever cannot be named."""
LONGEST = 300
"""Characters of an explanation that are written down."""


class Ledger:
    """Counts refusals; thread-safe, and a disk that is full does not stop it."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "refusals.jsonl"
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._fresh: Counter[tuple[str, str]] = Counter()
        self._written = _pairs(self._file)

    def count(self, site: str, refused: Refused) -> None:
        """One more."""
        pair = (site, str(refused.reason))
        with self._lock:
            self._counts[pair] += 1
            self._fresh[pair] += 1
            if self._counts[pair] > 1:
                return
            known = pair in self._written
            self._written.add(pair)
        LOG.warning("refused what came in the name of %s: %s; more of the same is only counted", site, refused)
        if not known:
            self._write(site, refused)

    def counts(self) -> Counts:
        """All since the start."""
        with self._lock:
            return _nested(self._counts)

    def fresh(self) -> Counts:
        """All since the last call."""
        with self._lock:
            fresh, self._fresh = self._fresh, Counter()
        return _nested(fresh)

    def _write(self, site: str, refused: Refused) -> None:
        line = json.dumps({"site": site, "reason": refused.reason, "why": refused.why[:LONGEST]})
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            append_line(self._file, line)
        except (StorageError, OSError):
            LOG.warning("cannot write %s", self._file)


def _nested(counts: Counter[tuple[str, str]]) -> Counts:
    nested: Counts = {}
    for (site, reason), number in sorted(counts.items()):
        nested.setdefault(site, {})[reason] = number
    return nested


def _pairs(file: Path) -> set[tuple[str, str]]:
    """What earlier runs wrote down; a torn line is passed over."""
    found = set()
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return set()
    for line in lines:
        try:
            said = json.loads(line)
            found.add((str(said["site"]), str(said["reason"])))
        except (ValueError, KeyError, TypeError):
            continue
    return found
