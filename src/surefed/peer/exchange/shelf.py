"""Our own beliefs, the last few, for those who may have them; each asker gets each of them a few times at most."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

from surefed.peer.refused import Reason, Refused
from surefed.peer.wire import Manifest

TIMES = 8
"""How often one asker is given the whole of one belief: once, and again over a bad link or after a restart."""


@dataclass(slots=True)
class _Book:
    manifest: Manifest
    message: bytes
    payload: bytes
    given: Counter[str] = field(default_factory=Counter)


class Shelf:
    """The beliefs of our last `keep` rounds."""

    def __init__(self, keep: int) -> None:
        if keep < 1:
            raise ValueError(f"keep = {keep}; at least the last belief is kept, so at least 1")
        self._keep = keep
        self._books: dict[int, _Book] = {}
        self._lock = threading.Lock()

    def put(self, manifest: Manifest, message: bytes, payload: bytes) -> None:
        """Add a belief and drop the oldest; a second one of a round would be equivocation."""
        with self._lock:
            before = self._books.get(manifest.round)
            if before is not None:
                if before.manifest.sha256 != manifest.sha256:
                    raise ValueError(f"round {manifest.round} was published with another belief; one round, one belief")
                return
            self._books[manifest.round] = _Book(manifest, message, payload)
            for round in sorted(self._books)[: -self._keep]:
                del self._books[round]

    def manifest(self, round: int | None) -> bytes:
        """The signed manifest of a round, or else of the newest; empty if there is none."""
        with self._lock:
            if not self._books:
                return b""
            return self._books.get(max(self._books) if round is None else round, self._books[max(self._books)]).message

    def chunk(self, asker: str, round: int, sha256: str, chunk: int) -> bytes:
        """A piece of a belief, empty if it is not here (any more). Refused if the asker has had it too often."""
        with self._lock:
            book = self._books.get(round)
            if book is None or book.manifest.sha256 != sha256:
                return b""
            size, step = book.manifest.size, book.manifest.chunk
            piece = book.payload[chunk * step : (chunk + 1) * step]
            if book.given[asker] + len(piece) > TIMES * size:
                raise Refused(Reason.FLOOD, f"{asker} has had the belief of round {round} {TIMES} times")
            book.given[asker] += len(piece)
            return piece

    def pulled(self, round: int) -> frozenset[str]:
        """Who was given all of a belief."""
        with self._lock:
            book = self._books.get(round)
            if book is None:
                return frozenset()
            return frozenset(site for site, given in book.given.items() if given >= book.manifest.size)
