"""A manifest announces a belief: whose, of which round, how large, and its hash; receivers check it before asking."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from surefed.peer.charter import Charter
from surefed.peer.refused import Reason, Refused
from surefed.peer.wire.payload import DTYPES
from surefed.peer.wire.signed import Signer, Spoken, believe, seal, unseal

PURPOSE = b"surefed manifest 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(Spoken):
    """The announcement of one belief.

    size: bytes of the payload; chunk: bytes that are asked for at a time; sha256: of the whole payload.
    certificate: fingerprint of the sender's TLS certificate.
    """

    round: int
    weights: int
    dtype: str
    size: int
    chunk: int
    sha256: str
    certificate: str

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return -(-self.size // self.chunk) if self.chunk else 0


def manifest_for(charter: Charter, signer: Signer, round: int, payload: bytes) -> Manifest:
    """The manifest of a payload."""
    return Manifest(
        charter=charter.digest,
        amendment=charter.amendment,
        head=charter.heads[-1],
        sender=signer.site,
        round=round,
        weights=charter.weights,
        dtype=DTYPES[charter.learn.published],
        size=len(payload),
        chunk=charter.chunk,
        sha256=hashlib.sha256(payload).hexdigest(),
        certificate=signer.fingerprint,
    )


def write_manifest(manifest: Manifest, signer: Signer) -> bytes:
    """The manifest as bytes, signed."""
    return seal(manifest, PURPOSE, signer)


def parse_manifest(message: bytes) -> Manifest:
    """A well formed manifest that nobody has checked against a charter yet, or Refused."""
    return unseal(Manifest, message)[0]


def read_manifest(message: bytes, charter: Charter, *, sender: str | None = None) -> Manifest:
    """A manifest that a member of the charter signed and that announces what the charter allows; or Refused.

    sender: whom it was expected from. Whether its round is due is for the caller to judge.
    """
    said, signature, body = unseal(Manifest, message)
    standing = believe(said, PURPOSE, signature, body, charter, sender)
    if said.certificate not in standing.certificates:
        raise Refused(
            Reason.CERTIFICATE, f"{said.sender} names a certificate that the charter does not know as its own"
        )
    dtype = DTYPES[charter.learn.published]
    allowed = {"weights": charter.weights, "dtype": dtype, "size": charter.size, "chunk": charter.chunk}
    for name, right in allowed.items():
        if getattr(said, name) != right:
            raise Refused(
                Reason.SHAPE, f"{said.sender} announces {name} {getattr(said, name)}; the charter says {right}"
            )
    if said.round > charter.rounds:
        raise Refused(Reason.ROUND, f"{said.sender} announces round {said.round} of {charter.rounds}")
    return said
