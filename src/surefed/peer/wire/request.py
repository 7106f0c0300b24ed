"""A request asks one site for a manifest, for a chunk of a belief, or for its copy of the charter; whoever asks signs.

A request holds no time and no number used once. Whoever repeats a copy of it gets the same answer again, which is all
that the one who asked was entitled to; so nothing has to be remembered, and clocks may differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from surefed.peer.charter import Charter
from surefed.peer.refused import Reason, Refused
from surefed.peer.wire.manifest import Manifest
from surefed.peer.wire.signed import Signer, Spoken, believe, seal, unseal

PURPOSE = b"surefed request 1"
KINDS = frozenset({"newest", "manifest", "chunk", "charter"})
"""What can be asked for: the newest manifest, that of a round, a chunk of a belief, the charter."""

NOTHING = "0" * 64
"""Stands for the hash in a request that is not for a belief."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Spoken):
    """What one site asks another for.

    kind: one of KINDS. owner: the site that is asked. round: which belief's manifest or chunk. sha256, chunk: the
    belief's hash, and which of its chunks, counted from 0. What a kind does not need is zero.
    """

    kind: str
    owner: str
    round: int
    sha256: str
    chunk: int


def chunk_request(charter: Charter, signer: Signer, manifest: Manifest, chunk: int) -> bytes:
    """Ask the sender of a manifest for one chunk of what it announced."""
    return _write(charter, signer, "chunk", manifest.sender, manifest.round, manifest.sha256, chunk)


def manifest_request(charter: Charter, signer: Signer, owner: str, round: int | None = None) -> bytes:
    """Ask a site for its manifest of a round, or for its newest."""
    if round is None:
        return _write(charter, signer, "newest", owner, 0, NOTHING, 0)
    return _write(charter, signer, "manifest", owner, round, NOTHING, 0)


def charter_request(charter: Charter, signer: Signer, owner: str) -> bytes:
    """Ask a site for its copy of the charter, to learn of amendments, or of what differs."""
    return _write(charter, signer, "charter", owner, 0, NOTHING, 0)


def parse_request(message: bytes) -> Request:
    """A well formed request that nobody has checked against a charter yet, or Refused.

    A request for the charter may be answered without further checks: it may come from a site that has another charter,
    and a charter holds no secret.
    """
    return _unsealed(message)[0]


def read_request(message: bytes, charter: Charter, *, owner: str) -> Request:
    """A request that a member of the charter signed and that this owner is asked; or Refused."""
    said, signature, body = _unsealed(message)
    believe(said, PURPOSE, signature, body, charter, None)
    if said.owner != owner:
        raise Refused(Reason.NOT_ALLOWED, f"{said.sender} asks {said.owner}, not {owner}")
    if said.chunk >= charter.chunks or said.round > charter.rounds:
        raise Refused(Reason.SHAPE, f"{said.sender} asks for chunk {said.chunk} of round {said.round}; there is none")
    return said


def _unsealed(message: bytes) -> tuple[Request, bytes, bytes]:
    said, signature, body = unseal(Request, message)
    if said.kind not in KINDS:
        raise Refused(Reason.MALFORMED, "it asks for something that there is not")
    return said, signature, body


def _write(charter: Charter, signer: Signer, kind: str, owner: str, round: int, sha256: str, chunk: int) -> bytes:
    said = Request(
        charter=charter.digest,
        amendment=charter.amendment,
        head=charter.heads[-1],
        sender=signer.site,
        kind=kind,
        owner=owner,
        round=round,
        sha256=sha256,
        chunk=chunk,
    )
    return seal(said, PURPOSE, signer)
