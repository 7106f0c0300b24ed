"""What a TLS certificate must be for a peer to start: ours, in date, for this site and key, for both ends of a link."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from surefed.core import IdentityError
from surefed.peer.identity.files import read_public

SKEW = timedelta(days=1)
"""Certificates are dated back by this much, so a clock may run a day behind the authority's. At the other end there is
no tolerance: TLS refuses a certificate from the second it expires by the clock of whoever checks it."""

SOON = timedelta(days=30)
"""A certificate that expires within this time is worth a warning."""

BOTH_ENDS = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)


@dataclass(frozen=True, slots=True)
class Facts:
    """What people want to know of a certificate."""

    site: str
    fingerprint: str
    hosts: tuple[str, ...]
    begins: datetime
    expires: datetime

    def left(self, now: datetime | None = None) -> timedelta:
        """Time until it expires."""
        return self.expires - (now or datetime.now(UTC))


def read_certificate(path: Path, what: str = "certificate") -> x509.Certificate:
    """The first certificate in a PEM file."""
    content = read_public(path, what)
    try:
        return x509.load_pem_x509_certificate(content)
    except (ValueError, TypeError):
        raise IdentityError(f"{path} holds no {what} in PEM form") from None


def fingerprint(certificate: x509.Certificate) -> str:
    """SHA-256 of a certificate, in hex."""
    return certificate.fingerprint(SHA256()).hex()


def pem(certificate: x509.Certificate) -> str:
    """A certificate as the text of a file."""
    return certificate.public_bytes(Encoding.PEM).decode("ascii")


def facts(certificate: x509.Certificate) -> Facts:
    """What people want to know of a certificate; IdentityError if it cannot even be read as one of ours."""
    try:
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        site = str(names[0].value) if len(names) == 1 else ""
        return Facts(
            site=site,
            fingerprint=fingerprint(certificate),
            hosts=_hosts(certificate.extensions),
            begins=certificate.not_valid_before_utc,
            expires=certificate.not_valid_after_utc,
        )
    except Exception:  # whatever a parser of certificates may raise for bytes from a stranger
        raise IdentityError("a certificate holds fields that cannot be read") from None


def check_certificate(
    certificate: x509.Certificate,
    authority: x509.Certificate,
    site: str,
    key: EllipticCurvePrivateKey | None = None,
    now: datetime | None = None,
) -> Facts:
    """The facts of a certificate with which a site may start, or an IdentityError that says what is wrong."""
    known = facts(certificate)
    if known.site != site:
        raise IdentityError(f"the certificate is of {known.site!r}, not of {site!r}; is it in the right folder?")
    check_authority(authority, now)
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        raise IdentityError(
            f"the certificate of {site} was not signed by this authority ({fingerprint(authority)[:16]}...); get "
            "ca.pem and the certificate from the same founder"
        ) from None
    if p256(certificate.public_key()) is None:
        raise IdentityError(
            f"the certificate of {site} is not for an EC P-256 key; keys are made by `surefed keys new`"
        )
    if key is not None and certificate.public_key() != key.public_key():
        raise IdentityError(
            f"the certificate of {site} is for another private key; send {site}.request to the founder again, and put "
            "what comes back in place with `surefed keys install`"
        )
    _check_dates(f"the certificate of {site}", known.begins, known.expires, now)
    if not known.hosts:
        raise IdentityError(f"the certificate of {site} names no host that others could dial; renew it with --host")
    if not set(BOTH_ENDS) <= set(_usages(certificate)):
        raise IdentityError(f"the certificate of {site} is not for both ends of a link (serverAuth and clientAuth)")
    return known


def check_authority(authority: x509.Certificate, now: datetime | None = None) -> None:
    """Refuse a certificate that is no authority's, or out of date."""
    try:
        basic = authority.extensions.get_extension_for_class(x509.BasicConstraints).value
        usage = authority.extensions.get_extension_for_class(x509.KeyUsage).value
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension):
        raise IdentityError("ca.pem is not the certificate of an authority") from None
    if not (basic.ca and usage.key_cert_sign):
        raise IdentityError("ca.pem is not the certificate of an authority")
    _check_dates("the authority's certificate", authority.not_valid_before_utc, authority.not_valid_after_utc, now)


def p256(key: object) -> EllipticCurvePublicKey | None:
    """The key if it is a public key on the curve P-256, else None."""
    return key if isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1) else None


def alternative_names(hosts: tuple[str, ...]) -> x509.SubjectAlternativeName:
    """Hosts as a certificate names them: addresses as IPs, all else as DNS names."""
    return x509.SubjectAlternativeName([_general(host) for host in hosts])


def hosts_of(csr: x509.CertificateSigningRequest) -> tuple[str, ...]:
    """The hosts that a signing request names."""
    return _hosts(csr.extensions)


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _hosts(extensions: x509.Extensions) -> tuple[str, ...]:
    try:
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    kinds = (x509.DNSName, x509.IPAddress)
    return tuple(str(name.value) for name in names if isinstance(name, kinds))


def _usages(certificate: x509.Certificate) -> list[x509.ObjectIdentifier]:
    try:
        return list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        return []


def _check_dates(what: str, begins: datetime, expires: datetime, now: datetime | None) -> None:
    at = now or datetime.now(UTC)
    if at >= expires:
        raise IdentityError(
            f"{what} expired on {expires:%Y-%m-%d %H:%M} UTC; renew it with `surefed keys renew`. If that day has not "
            "come yet, this machine's clock is wrong"
        )
    if at < begins:
        raise IdentityError(
            f"{what} is not valid before {begins:%Y-%m-%d %H:%M} UTC, and here it is {at:%Y-%m-%d %H:%M}; set this "
            "machine's clock"
        )
