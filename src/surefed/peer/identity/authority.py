"""The founder's authority signs every member's TLS certificate; its key decides who may connect and is kept offline."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from pydantic import TypeAdapter, ValidationError

from surefed.core import ConfigError, IdentityError
from surefed.peer import canonical
from surefed.peer.identity.certificate import (
    BOTH_ENDS,
    SKEW,
    alternative_names,
    check_authority,
    check_certificate,
    fingerprint,
    pem,
    read_certificate,
)
from surefed.peer.identity.files import LIMIT, read_public, write_private
from surefed.peer.identity.keys import load_tls
from surefed.peer.identity.members import Member
from surefed.peer.identity.request import KeyRequest
from surefed.peer.refused import Refused
from surefed.records import write_text

DAYS = 365
"""A member's certificate is valid for this long, unless said otherwise."""

AUTHORITY_DAYS = 3650

_MEMBERS = TypeAdapter(dict[str, Member])


@dataclass(frozen=True, slots=True)
class Authority:
    """An authority that can sign; its key is never shown."""

    folder: Path

    @property
    def certificate(self) -> x509.Certificate:
        """Its certificate, which every site has a copy of."""
        return read_certificate(self.folder / "ca.pem", "authority's certificate")

    @property
    def members_file(self) -> Path:
        """Where the sites approved so far are listed."""
        return self.folder / "members.json"

    def members(self) -> dict[str, Member]:
        """The newest approved key and certificate of each site."""
        if not self.members_file.exists():
            return {}
        return read_members(self.members_file)

    def approve(self, request: KeyRequest, days: int = DAYS, *, new_keys: bool = False) -> Member:
        """Sign a certificate for what a request asks, write it to SITE.pem, and list the site as a member.

        new_keys: whether a site that was approved before may bring another signing key; it may be somebody else's.
        """
        before = self.members().get(request.site)
        if before is not None and before.signing != request.signing and not new_keys:
            raise IdentityError(
                f"{request.site} was approved before with another signing key ({before.signing[:16]}...); ask the "
                "site by telephone whether it made new keys, and if so approve with --new-keys"
            )
        authority = self.certificate
        check_authority(authority)
        key = load_tls(self.folder / "ca.key")
        signed = _certificate(request, authority, key, days)
        check_certificate(signed, authority, request.site)
        member = Member(site=request.site, signing=request.signing, certificate=fingerprint(signed))
        listed = {**self.members(), request.site: member}
        write_text(self.folder / f"{request.site}.pem", pem(signed))
        write_members(self.members_file, listed)
        return member


def found(folder: Path, name: str) -> Authority:
    """Make an authority: ca.key, to be kept offline, and ca.pem, which every site gets."""
    if not name.strip() or not name.isprintable() or len(name) > 60:
        raise ConfigError("the authority's name is one line of at most 60 characters")
    key = ec.generate_private_key(ec.SECP256R1())
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = _dated(x509.CertificateBuilder(), AUTHORITY_DAYS).subject_name(own).issuer_name(own)
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    write_private(folder / "ca.key", key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    write_text(folder / "ca.pem", pem(builder.sign(key, SHA256())))
    return Authority(folder)


def read_members(path: Path) -> dict[str, Member]:
    """The list of approved sites."""
    try:
        values = canonical.decode(read_public(path, "list of members"), LIMIT, spaced=True)
        listed = _MEMBERS.validate_python(values)
    except (Refused, ValidationError):
        raise IdentityError(f"{path} is not a list of members as `surefed keys approve` writes it") from None
    if any(site != member.site for site, member in listed.items()):
        raise IdentityError(f"{path} lists a member under another name")
    return listed


def write_members(path: Path, members: dict[str, Member]) -> None:
    """Write the list of approved sites."""
    text = {site: member.model_dump() for site, member in members.items()}
    write_text(path, json.dumps(text, indent=1) + "\n")


def _certificate(
    request: KeyRequest, authority: x509.Certificate, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, request.site)])
    builder = _dated(x509.CertificateBuilder(), days, authority.not_valid_after_utc).subject_name(name)
    builder = builder.issuer_name(authority.subject).public_key(request.csr.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage(BOTH_ENDS), critical=False)
    builder = builder.add_extension(alternative_names(request.hosts), critical=False)
    public = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    return builder.add_extension(public, critical=False).sign(key, SHA256())


def _dated(builder: x509.CertificateBuilder, days: int, latest: datetime | None = None) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    expires = now + timedelta(days=days)
    return builder.not_valid_before(now - SKEW).not_valid_after(min(expires, latest) if latest else expires)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
