"""Whether the keys and certificates that lie at a site are those the charter knows."""

from __future__ import annotations

from surefed.core import IdentityError
from surefed.peer.charter.charter import Charter
from surefed.peer.identity import Identity


def check_membership(identity: Identity, charter: Charter) -> None:
    """Refuse to start a site whose authority, certificate or signing key is not the charter's."""
    site, standing = identity.site, charter.members.get(identity.site)
    if identity.authority != charter.authority:
        raise IdentityError(f"{identity.places.authority} is not the authority of the charter of {charter.name!r}")
    if standing is None:
        raise IdentityError(f"{site} is no member of {charter.name!r}; the members are {', '.join(charter.sites)}")
    if standing.revoked:
        raise IdentityError(f"{site} was revoked from {charter.name!r}; the members may renew its keys by an amendment")
    for what, own, known in (
        ("signing key", identity.signing, standing.signing),
        ("certificate", identity.fingerprint, standing.certificates),
    ):
        if own not in known:
            raise IdentityError(
                f"the {what} of {site} here ({own[:16]}...) is not one that the charter knows ({known[0][:16]}...); "
                "put the right file in place, or amend the charter with `surefed federation amend`"
            )
