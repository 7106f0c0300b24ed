"""A signed message: 64 bytes of Ed25519 signature, then flat canonical JSON; nothing else, and never beyond a limit.

Messages of every kind say whose charter they belong to: its digest, how many amendments the sender knows, and the
digest of the last of them. Peers that know different amendments understand each other, because the digest of the
charter stays what it was at the founding: each hears the other as long as the keys it knows fit, and `amended` says who
has to catch up.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Protocol, TypeVar

from surefed.peer import canonical
from surefed.peer.charter import Charter
from surefed.peer.identity.members import Standing
from surefed.peer.identity.names import is_site
from surefed.peer.identity.signing import SIGNATURE, signed_by
from surefed.peer.refused import Reason, Refused

LIMIT = 1024
"""Bytes of the longest manifest or request, signature included; honest ones have some 500."""

WHOLE = 2**63
"""Whole numbers are below this."""

SITES = frozenset({"sender", "owner"})
WORDS = frozenset({"dtype", "kind"})
"""Which fields hold the name of a site, and which a short word; all other text is a SHA-256 in hex."""

HEX = frozenset("0123456789abcdef")

T = TypeVar("T", bound="Spoken")


class Signer(Protocol):
    """Whoever can sign for a site: an Identity, or a stand-in."""

    @property
    def site(self) -> str:
        """Its name."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of its TLS certificate, in hex."""

    def sign(self, purpose: bytes, message: bytes) -> bytes:
        """The signature of a message for a purpose. 64 bytes"""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What every message says.

    charter: digest of the charter. amendment, head: the number and the digest of the last amendment the sender knows.
    """

    charter: str
    amendment: int
    head: str
    sender: str


def seal(message: Spoken, purpose: bytes, signer: Signer) -> bytes:
    """The message as bytes, signed."""
    body = canonical.encode(asdict(message))
    return signer.sign(purpose, body) + body


def unseal(kind: type[T], message: bytes) -> tuple[T, bytes, bytes]:
    """A message, its signature and its body, all well formed but not yet believed; or Refused."""
    if len(message) > LIMIT:
        raise Refused(Reason.OVERSIZE, f"{len(message)} bytes, where {LIMIT} are the most there can be")
    signature, body = bytes(message[:SIGNATURE]), bytes(message[SIGNATURE:])
    values = canonical.decode(body, LIMIT)
    known = {field.name: field.type for field in fields(kind)}
    if set(values) != set(known):
        raise Refused(Reason.MALFORMED, "it has other keys than such a message")
    for name, value in values.items():
        if not _fits(name, known[name], value):
            raise Refused(Reason.MALFORMED, f"its {name} cannot be such a thing")
    return kind(**values), signature, body


def believe(
    said: Spoken, purpose: bytes, signature: bytes, body: bytes, charter: Charter, sender: str | None
) -> Standing:
    """Where the sender stands, if it is a member of this charter and did sign; or Refused.

    sender: whom the message was expected from, where that is known.
    """
    if said.charter != charter.digest:
        raise Refused(
            Reason.CHARTER, f"{said.sender} has another charter: {said.charter[:16]}..., not {charter.digest[:16]}..."
        )
    if sender is not None and said.sender != sender:
        raise Refused(Reason.FORGED, f"it came from {sender} in the name of {said.sender}")
    news = amended(said, charter)
    hint = f" by the amendments known here; {news}" if news else ""
    standing = charter.members.get(said.sender)
    if standing is None:
        raise Refused(Reason.STRANGER, f"{said.sender} is no member{hint}")
    if standing.revoked:
        raise Refused(Reason.REVOKED, f"{said.sender} was revoked{hint}")
    if not signed_by(standing.signing, purpose, body, signature):
        raise Refused(Reason.FORGED, f"the signature is not that of {said.sender}{hint}")
    return standing


def amended(said: Spoken, charter: Charter) -> str:
    """What the sender's amendments have that ours have not, in words; empty if there is nothing to catch up with."""
    if said.amendment > charter.amendment:
        return (
            f"{said.sender} knows amendment {said.amendment}, and we {charter.amendment}: copy the newer charter here"
        )
    if said.head != charter.heads[said.amendment]:
        return f"{said.sender} has another amendment {said.amendment} than we; the members must agree on one"
    return ""


def _fits(name: str, kind: object, value: object) -> bool:
    """Whether a value has the type and range of its field, which its name decides where it is text."""
    if kind == "int":
        return type(value) is int and 0 <= value < WHOLE
    if not isinstance(value, str):
        return False
    if name in SITES:
        return is_site(value)
    if name in WORDS:
        return value.isascii() and value.isprintable() and len(value) <= 16
    return len(value) == 64 and set(value) <= HEX
