"""Answering questions: a member may know our manifests, and has a chunk of a belief if it is allowed to.

A manifest says nothing but that a belief exists. The charter is given to whoever asks: it holds no secret, and a site
that has another one can learn in no other way what differs.
"""

from __future__ import annotations

from collections.abc import Callable

from surefed.peer.charter import Charter, charter_bytes
from surefed.peer.exchange.bucket import Bucket
from surefed.peer.exchange.ledger import UNKNOWN, Ledger
from surefed.peer.exchange.shelf import Shelf
from surefed.peer.refused import Reason, Refused
from surefed.peer.transport.base import Reply
from surefed.peer.wire import Request, parse_request, read_request

QUESTIONS = (200, 50.0)
"""Manifests that one asker is given in one go, and a second; what it may have of beliefs the shelf counts."""
CHARTERS = (20, 1.0)
"""Charters that are given away in one go, and a second."""

Allowed = Callable[[str, int], bool]
"""(asker, round) -> whether it may have our belief of that round. Called on the transport's threads."""


class Serving:
    """Gives members what they may have; whatever else comes is counted and gets nothing."""

    def __init__(self, site: str, shelf: Shelf, ledger: Ledger, allowed: Allowed) -> None:
        self._site, self._shelf, self._ledger, self._allowed = site, shelf, ledger, allowed
        self._questions: dict[str, Bucket] = {}
        self._charters = Bucket(*CHARTERS)

    def answer(self, message: bytes, charter: Charter) -> Reply | None:
        """The answer to a request, by the charter in force."""
        asker = UNKNOWN
        try:
            claimed = parse_request(message)
            if claimed.kind == "charter":
                return self._charter(charter)
            asker = claimed.sender if claimed.sender in charter.members else UNKNOWN
            request = read_request(message, charter, owner=self._site)
            return Reply(asker, self._chunk(request) if request.kind == "chunk" else self._manifest(request))
        except Refused as refused:
            self._ledger.count(asker, refused)
            return None

    def _charter(self, charter: Charter) -> Reply:
        if not self._charters.take():
            raise Refused(Reason.FLOOD, "the charter is asked for too often")
        return Reply(UNKNOWN, charter_bytes(charter))

    def _manifest(self, request: Request) -> bytes:
        if not self._questions.setdefault(request.sender, Bucket(*QUESTIONS)).take():
            raise Refused(Reason.FLOOD, f"{request.sender} asks too often")
        return self._shelf.manifest(None if request.kind == "newest" else request.round)

    def _chunk(self, request: Request) -> bytes:
        if not self._allowed(request.sender, request.round):
            raise Refused(Reason.NOT_ALLOWED, f"{request.sender} does not hear us in round {request.round}")
        return self._shelf.chunk(request.sender, request.round, request.sha256, request.chunk)
