"""A site's private keys: made on the site, never sent anywhere; new ones wait beside the old until `install`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from surefed.core import IdentityError, RecordError
from surefed.peer.identity.certificate import Facts, check_certificate, facts, fingerprint, pem, read_certificate
from surefed.peer.identity.files import read_private, write_private
from surefed.peer.identity.names import checked_hosts, checked_site
from surefed.peer.identity.request import write_request
from surefed.peer.identity.signing import public_hex, sign
from surefed.records import write_text
from surefed.records.atomic import replace_file, storage


@dataclass(frozen=True, slots=True)
class Places:
    """Where a site's files are."""

    folder: Path
    site: str

    @property
    def tls(self) -> Path:
        """The private key of TLS."""
        return self.folder / f"{self.site}.key"

    @property
    def signing(self) -> Path:
        """The private key of signatures."""
        return self.folder / f"{self.site}.sign.key"

    @property
    def certificate(self) -> Path:
        """The TLS certificate."""
        return self.folder / f"{self.site}.pem"

    @property
    def authority(self) -> Path:
        """The authority's certificate."""
        return self.folder / "ca.pem"

    @property
    def request(self) -> Path:
        """What is sent to the founder."""
        return self.folder / f"{self.site}.request"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a peer is: its name, its certificate, and a key to sign with, which is never shown.

    fingerprint, authority: SHA-256 of its certificate and of the authority's; signing: its public key. All in hex.
    """

    site: str
    fingerprint: str
    authority: str
    signing: str
    places: Places
    facts: Facts
    _key: Ed25519PrivateKey = field(repr=False, compare=False)

    def sign(self, purpose: bytes, message: bytes) -> bytes:
        """The signature of a message for a purpose. 64 bytes"""
        return sign(self._key, purpose, message)


def new_keys(site: str, hosts: tuple[str, ...], folder: Path) -> Places:
    """Make a site's two private keys, and the request that asks the founder to approve them."""
    places = Places(folder, checked_site(site))
    for path in (places.tls, places.signing):
        if path.exists():
            raise RecordError(
                f"{path} exists, and a key is never overwritten; renew it with `surefed keys renew {site}`"
            )
    tls, signing = ec.generate_private_key(ec.SECP256R1()), Ed25519PrivateKey.generate()
    request = write_request(site, checked_hosts(hosts), tls, signing)
    write_private(places.tls, _pem(tls))
    write_private(places.signing, _pem(signing))
    write_text(places.request, request.decode("ascii"))
    return places


def renew(site: str, folder: Path, hosts: tuple[str, ...] = (), *, fresh: bool = False) -> Places:
    """Write a new request: for the keys in use, or for fresh ones, which wait beside them until they are installed."""
    places = Places(folder, checked_site(site))
    dialled = checked_hosts(hosts or facts(read_certificate(places.certificate)).hosts)
    tls, signing = load_tls(places.tls), load_signing(places.signing)
    if fresh:
        tls, signing = ec.generate_private_key(ec.SECP256R1()), Ed25519PrivateKey.generate()
        write_private(waiting(places.tls), _pem(tls))
        write_private(waiting(places.signing), _pem(signing))
    request = write_request(site, dialled, tls, signing)
    write_text(places.request, request.decode("ascii"))
    return places


def install(site: str, certificate: Path, authority: Path | None, folder: Path) -> Identity:
    """Put an approved certificate to use, with the fresh keys if it was made for those, after every check."""
    places = Places(folder, checked_site(site))
    given = read_certificate(certificate)
    ca = read_certificate(authority or places.authority, "authority's certificate")
    fresh = waiting(places.tls)
    swap = fresh.exists() and load_tls(fresh).public_key() == given.public_key()
    check_certificate(given, ca, site, load_tls(fresh if swap else places.tls))
    if places.authority.exists() and fingerprint(read_certificate(places.authority)) != fingerprint(ca):
        raise IdentityError(
            f"{places.authority} is of another authority than {authority}; the keys of a site serve one"
        )
    for path in (places.signing, places.tls):  # the key that decides comes last, so that a kill is made good next time
        if swap and waiting(path).exists():
            with storage(path):
                waiting(path).replace(path)
    replace_file(places.authority, lambda new: _public(new, pem(ca)))
    replace_file(places.certificate, lambda new: _public(new, pem(given)))
    return load_identity(site, folder)


def load_identity(site: str, folder: Path) -> Identity:
    """A site's identity after every check that its files allow; fails closed. `check_membership` does the rest."""
    places = Places(folder, checked_site(site))
    key, tls = load_signing(places.signing), load_tls(places.tls)
    certificate = read_certificate(places.certificate)
    authority = read_certificate(places.authority, "authority's certificate")
    known = check_certificate(certificate, authority, site, tls)
    return Identity(site, known.fingerprint, fingerprint(authority), public_hex(key), places, known, key)


def load_tls(path: Path) -> ec.EllipticCurvePrivateKey:
    """A private key of TLS."""
    key = _load(path)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise IdentityError(f"{path} is not an EC P-256 key")
    return key


def load_signing(path: Path) -> Ed25519PrivateKey:
    """A private key of signatures."""
    key = _load(path)
    if not isinstance(key, Ed25519PrivateKey):
        raise IdentityError(f"{path} is not an Ed25519 key")
    return key


def signing_keys(site: str, folder: Path) -> list[Ed25519PrivateKey]:
    """The signing key of a site, and the new one that waits, if there is one."""
    path = Places(folder, checked_site(site)).signing
    return [load_signing(path), *(load_signing(new) for new in [waiting(path)] if new.exists())]


def waiting(path: Path) -> Path:
    """Where a fresh key waits until its certificate is installed."""
    return path.with_name(f"{path.name}.next")


def _load(path: Path) -> object:
    content = read_private(path)
    try:
        return load_pem_private_key(content, password=None)
    except Exception:  # its message may quote the file
        raise IdentityError(f"{path} holds no private key in PEM form") from None


def _pem(key: ec.EllipticCurvePrivateKey | Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _public(path: Path, text: str) -> None:
    path.write_text(text)
