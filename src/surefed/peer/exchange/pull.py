"""A belief that is being pulled: exactly the announced bytes, in pieces that may come in any order.

Nothing is set aside in advance: a neighbour that sends nothing costs no memory.
"""

from __future__ import annotations

import hashlib
import threading
from collections import deque

from surefed.peer.refused import Reason, Refused
from surefed.peer.wire import Manifest


class Pull:
    """The pieces of one belief. Several threads may fill it; once it is closed nothing is added."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self._pieces: dict[int, bytes] = {}
        self._todo = deque(range(manifest.chunks))
        self._lock = threading.Lock()
        self._closed = False

    @property
    def whole(self) -> bool:
        """Whether every piece is here."""
        return self.arrived == self.manifest.chunks

    @property
    def closed(self) -> bool:
        """Whether it takes no more."""
        return self._closed

    @property
    def arrived(self) -> int:
        """How many pieces are here."""
        return len(self._pieces)

    def take(self) -> int | None:
        """A piece that nobody is asking for yet."""
        with self._lock:
            return self._todo.popleft() if self._todo and not self._closed else None

    def give_back(self, chunk: int) -> None:
        """That piece did not come; somebody else may ask."""
        with self._lock:
            self._todo.appendleft(chunk)

    def put(self, chunk: int, piece: bytes) -> None:
        """A piece came. Refused if it has the wrong length."""
        right = min(self.manifest.chunk, self.manifest.size - chunk * self.manifest.chunk)
        if len(piece) != right:
            raise Refused(Reason.SIZE, f"chunk {chunk} has {len(piece)} bytes, not {right}")
        with self._lock:
            if not self._closed:
                self._pieces[chunk] = piece

    def close(self) -> None:
        """Let go of all pieces, and take no more."""
        with self._lock:
            self._closed = True
            self._pieces = {}

    def finish(self) -> bytes:
        """The whole, if it is what the manifest announced; or Refused. Closes it either way."""
        with self._lock:
            pieces = [self._pieces[chunk] for chunk in range(self.manifest.chunks)]
        self.close()
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
        if digest.hexdigest() != self.manifest.sha256:
            sender, round = self.manifest.sender, self.manifest.round
            raise Refused(Reason.HASH, f"the bytes of round {round} are not those that {sender} signed")
        return b"".join(pieces)
