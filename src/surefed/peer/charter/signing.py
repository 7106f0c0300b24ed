"""How a charter gets its signatures and amendments: proposed by one, signed by several, each on their own machine."""

from __future__ import annotations

from collections.abc import Iterable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from surefed.core import IdentityError
from surefed.peer.charter import amendment as amendments
from surefed.peer.charter import charter as charters
from surefed.peer.charter.amendment import Action, Amendment
from surefed.peer.charter.charter import Charter
from surefed.peer.identity.signing import public_hex, sign


def sign_charter(charter: Charter, site: str, keys: Iterable[Ed25519PrivateKey]) -> Charter:
    """With every signature that a site can give: as a founder, on the pending amendment, for its new key."""
    held = {public_hex(key): key for key in keys}
    charter = _founding(charter, site, held)
    if charter.pending is None:
        return charter
    signed = _amending(charter, charter.pending, site, held)
    return charter.changed(amendments=(*charter.amendments[:-1], signed))


def propose(
    charter: Charter, action: Action, site: str, *, signing: str | None = None, certificate: str | None = None
) -> Charter:
    """With one more amendment, which is in force once it is signed."""
    if charter.pending is not None:
        raise IdentityError(
            f"{charter.pending.said()} still waits for {'; and for '.join(charter.lacks)}; have it signed or "
            "withdraw it first"
        )
    number, previous = charter.amendment + 1, charter.heads[-1]
    new = Amendment(
        number=number, previous=previous, action=action, site=site, signing=signing, certificate=certificate
    )
    new.apply(charter.members)
    return charter.changed(amendments=(*charter.amendments, new))


def withdraw(charter: Charter) -> Charter:
    """Without the pending amendment."""
    if charter.pending is None:
        raise IdentityError("no amendment waits for signatures; one that is in force is undone by another")
    return charter.changed(amendments=charter.amendments[:-1])


def merged(ours: Charter, theirs: Charter) -> Charter:
    """Our copy of a charter with all signatures and amendments of another copy."""
    if ours.digest != theirs.digest:
        raise IdentityError("these are two charters; `surefed federation compare` says what differs")
    both = ours.changed(signatures=dict(sorted({**ours.signatures, **theirs.signatures}.items())))
    longer = max(ours, theirs, key=lambda copy: (copy.amendment, len(copy.amendments))).amendments
    joined = []
    for at, one in enumerate(longer):
        for copy in (ours, theirs):
            other = copy.amendments[at] if at < len(copy.amendments) else one
            if other.digest != one.digest:
                raise IdentityError(
                    f"the copies contradict each other: {one.said()} in one, {other.said()} in the other; withdraw the "
                    "one that is not in force yet"
                )
            one = one.with_signatures(other.signatures, other.possession)
        joined.append(one)
    both = both.changed(amendments=tuple(joined))
    both.check_signatures()
    return both


def _founding(charter: Charter, site: str, held: dict[str, Ed25519PrivateKey]) -> Charter:
    for founder in charter.founders:
        if founder.site == site and founder.signing in held and site not in charter.signatures:
            signature = sign(held[founder.signing], charters.PURPOSE, charter.message).hex()
            return charter.changed(signatures=dict(sorted({**charter.signatures, site: signature}.items())))
    return charter


def _amending(charter: Charter, pending: Amendment, site: str, held: dict[str, Ed25519PrivateKey]) -> Amendment:
    standing = charter.members.get(site)
    for public in standing.signing if standing is not None else ():
        if public in held:
            signature = sign(held[public], amendments.PURPOSE, pending.message).hex()
            pending = pending.with_signatures({site: signature})
            break
    if pending.site == site and pending.new_key in held:
        assert pending.new_key is not None
        possession = sign(held[pending.new_key], amendments.PURPOSE, pending.message).hex()
        pending = pending.with_signatures({}, possession)
    return pending
