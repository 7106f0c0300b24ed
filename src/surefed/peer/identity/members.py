"""Who belongs to a federation now: each site's place, the keys and certificates accepted from it, what was revoked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from surefed.core import IdentityError
from surefed.peer.identity.names import Hex32, Site, Stated

ACCEPTED = 2
"""Keys and certificates of a site that are accepted side by side: the newest and the one before it, so that a renewal
need not happen everywhere at once."""


class Member(Stated):
    """A site as the charter writes it down."""

    site: Site
    """Its name: the CN of its certificate, and its client id in the simulator."""
    signing: Hex32
    """Its Ed25519 public key."""
    certificate: Hex32
    """SHA-256 of its TLS certificate."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a site stands after all amendments.

    place: its place in the charter. signing, certificates: those accepted from it, the newest first; none once revoked.
    """

    site: str
    place: int
    signing: tuple[str, ...]
    certificates: tuple[str, ...]

    @property
    def revoked(self) -> bool:
        """Whether nothing of it is accepted any more: it has no key or no certificate left."""
        return not (self.signing and self.certificates)


@dataclass(frozen=True, slots=True)
class Members:
    """All sites in the order of the charter, those added later last, revoked ones included."""

    standings: tuple[Standing, ...]
    used: frozenset[str]
    """Every signing key and certificate ever written down; none may come back, and none belongs to two sites."""

    @classmethod
    def founding(cls, members: Iterable[Member]) -> Members:
        """The members that a charter begins with."""
        founders = cls((), frozenset())
        for member in members:
            founders = founders.add(member.site, member.signing, member.certificate)
        return founders

    @property
    def sites(self) -> tuple[str, ...]:
        """Every site's name, in order."""
        return tuple(one.site for one in self.standings)

    @property
    def active(self) -> tuple[str, ...]:
        """The sites that are not revoked, in order."""
        return tuple(one.site for one in self.standings if not one.revoked)

    def __len__(self) -> int:
        return len(self.standings)

    def __iter__(self) -> Iterator[Standing]:
        return iter(self.standings)

    def __contains__(self, site: object) -> bool:
        return self.get(site) is not None

    def get(self, site: object) -> Standing | None:
        """Where a site stands; None if it was never a member."""
        return next((one for one in self.standings if one.site == site), None)

    def __getitem__(self, site: str) -> Standing:
        found = self.get(site)
        if found is None:
            raise IdentityError(f"there is no member {site!r}; the members are {', '.join(self.sites)}")
        return found

    def add(self, site: str, signing: str, certificate: str) -> Members:
        """With one more site, in the last place."""
        if site in self:
            raise IdentityError(f"{site} is a member already; its keys are changed by a renewal")
        fresh = self._fresh(site, signing, certificate)
        new = Standing(site, len(self), (signing,), (certificate,))
        return Members((*self.standings, new), self.used | fresh)

    def renew(self, site: str, signing: str | None, certificate: str | None) -> Members:
        """With a newer key or certificate for a site; of each kind the one before it stays accepted as well."""
        fresh, old = self._fresh(site, signing, certificate), self[site]
        new = replace(
            old,
            signing=((signing,) if signing else ()) + old.signing[: ACCEPTED - 1 if signing else None],
            certificates=((certificate,) if certificate else ())
            + old.certificates[: ACCEPTED - 1 if certificate else None],
        )
        return self._with(new, fresh)

    def revoke(self, site: str, signing: str | None, certificate: str | None) -> Members:
        """Without this key or certificate of a site; without either, nothing of the site is accepted any more."""
        old = self[site]
        for given, held in ((signing, old.signing), (certificate, old.certificates)):
            if given is not None and given not in held:
                raise IdentityError(f"{given[:16]}... is not accepted from {site} now, so it cannot be revoked")
        if signing is None and certificate is None:
            return self._with(replace(old, signing=(), certificates=()), frozenset())
        kept_keys = tuple(one for one in old.signing if one != signing)
        kept_certificates = tuple(one for one in old.certificates if one != certificate)
        return self._with(replace(old, signing=kept_keys, certificates=kept_certificates), frozenset())

    def _fresh(self, site: str, *written: str | None) -> frozenset[str]:
        given = frozenset(one for one in written if one is not None)
        for one in given & self.used:
            raise IdentityError(
                f"the key or certificate {one[:16]}... of {site} was written down before; make a new one"
            )
        return given

    def _with(self, new: Standing, fresh: frozenset[str]) -> Members:
        changed = tuple(new if one.site == new.site else one for one in self.standings)
        return Members(changed, self.used | fresh)
