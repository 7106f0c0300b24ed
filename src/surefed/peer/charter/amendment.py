"""An amendment adds a site, renews or revokes keys; it is numbered, chained to the one before it, and signed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from surefed.core import IdentityError
from surefed.peer import canonical
from surefed.peer.identity.members import Members
from surefed.peer.identity.names import Hex32, Hex64, Site, Stated
from surefed.peer.identity.signing import signed_by

PURPOSE = b"surefed amendment 1"
"""What the signatures of an amendment are for; a signature for one purpose is worth nothing for another."""


Action = Literal["add", "renew", "revoke"]


class Amendment(Stated):
    """One change of membership; what decides the results of a run is not amended.

    It needs the signatures of `approvals` members, whatever it does. If a site could renew its own keys alone, a
    malicious one could hand out two amendments of one number and so split the others. A new signing key signs as well,
    which proves that the site holds it and agrees to the charter.
    """

    number: Annotated[int, Field(ge=1)]
    """Counted from 1."""
    previous: Hex32
    """Digest of the amendment before it, or of the charter."""
    action: Action
    site: Site
    signing: Hex32 | None = None
    """The Ed25519 public key that is added or revoked."""
    certificate: Hex32 | None = None
    """The fingerprint of the certificate that is added or revoked. With neither, a revocation is of the whole site."""
    possession: Hex64 | None = None
    """Signature by the new signing key."""
    signatures: dict[Site, Hex64] = Field({})
    """Signatures of members by the keys they had before this amendment."""

    @model_validator(mode="after")
    def _complete(self) -> Amendment:
        given = (self.signing is not None) + (self.certificate is not None)
        if given < {"add": 2, "renew": 1, "revoke": 0}[self.action]:
            raise ValueError("a site is added with its key and its certificate, and renewed with one of them or both")
        if self.possession is not None and not self.new_key:
            raise ValueError("only a new signing key signs for itself")
        return self

    @property
    def new_key(self) -> str | None:
        """The signing key that this amendment brings in."""
        return None if self.action == "revoke" else self.signing

    @property
    def digest(self) -> str:
        """SHA-256 of all that it says, signatures aside."""
        said = self.model_dump(exclude={"signatures", "possession"})
        return hashlib.sha256(canonical.encode(said)).hexdigest()

    @property
    def message(self) -> bytes:
        """What is signed."""
        return self.digest.encode()

    def lacks(self, members: Members, approvals: int) -> list[str]:
        """Whose signatures are missing, in words; none: it is in force. A signature that is wrong is an error."""
        self._check(members)
        missing = []
        if self.new_key is not None and self.possession is None:
            missing.append(f"{self.site}, by its new signing key")
        signed, needed = len(self.signatures), min(approvals, len(members.active))
        if signed < needed:
            missing.append(f"{needed - signed} more of the members ({signed} of {needed} signed)")
        return missing

    def _check(self, members: Members) -> None:
        for site, signature in self.signatures.items():
            if site not in members or not signed_by(members[site].signing, PURPOSE, self.message, signature):
                raise IdentityError(f"amendment {self.number}: the signature in the name of {site} is not that site's")
        new = () if self.new_key is None else (self.new_key,)
        if self.possession is not None and not signed_by(new, PURPOSE, self.message, self.possession):
            raise IdentityError(f"amendment {self.number}: the new key of {self.site} did not sign it")

    def apply(self, members: Members) -> Members:
        """The members after it."""
        if self.action == "add":
            assert self.signing is not None
            assert self.certificate is not None
            return members.add(self.site, self.signing, self.certificate)
        change = members.renew if self.action == "renew" else members.revoke
        return change(self.site, self.signing, self.certificate)

    def with_signatures(self, signatures: Mapping[str, str], possession: str | None = None) -> Amendment:
        """With these signatures as well."""
        merged = dict(sorted({**self.signatures, **signatures}.items()))
        return self.model_copy(update={"signatures": merged, "possession": self.possession or possession})

    def said(self) -> str:
        """What it does, in a few words."""
        parts = [("key", self.signing), ("certificate", self.certificate)]
        what = " and ".join(f"{kind} {given[:16]}..." for kind, given in parts if given)
        verb = {"add": "adds", "renew": "renews", "revoke": "revokes"}[self.action]
        return f"amendment {self.number} {verb} {self.site}" + (f": {what}" if what else ", the whole site")
