"""The files of mutual TLS, checked before anything is opened: a refused certificate makes no sound on the wire."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509.oid import NameOID

from surefed.core import IdentityError


@dataclass(frozen=True)
class Credentials:
    """Where the federation's authority, our certificate and its private key lie, all as PEM."""

    authority: Path
    certificate: Path
    key: Path

    def check(self, name: str) -> datetime:
        """Until when the certificate holds; an error that names the fix unless all three files fit `name` now."""
        authority = _certificate(self.authority)
        ours = _certificate(self.certificate)
        _check_key(self.key, ours)
        names = [str(one.value) for one in ours.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        if names != [name]:
            raise IdentityError(f"{self.certificate} belongs to {', '.join(names) or 'nobody'}, not to {name}")
        try:
            ours.verify_directly_issued_by(authority)
        except (InvalidSignature, ValueError, TypeError):
            raise IdentityError(
                f"{self.certificate} was not signed by {self.authority}; ask the founder for one of this federation"
            ) from None
        _check_dates(self.authority, authority)
        _check_dates(self.certificate, ours)
        return ours.not_valid_after_utc


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise IdentityError(f"cannot read {path}: {error.strerror}") from None


def _certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(_read(path))
    except ValueError:
        raise IdentityError(f"{path} is no certificate in PEM") from None


def _check_key(path: Path, certificate: x509.Certificate) -> None:
    data = _read(path)
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise IdentityError(f"{path} can be read by others on this machine; chmod 600 {path}")
    try:
        key = load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise IdentityError(f"{path} is no private key in PEM without a password") from None
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if key.public_key().public_bytes(*form) != certificate.public_key().public_bytes(*form):
        raise IdentityError(f"{path} is not the key of the certificate; keep the pair that was made together")


def _check_dates(path: Path, certificate: x509.Certificate) -> None:
    now = datetime.now(UTC)
    if now < certificate.not_valid_before_utc:
        begins = f"{certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        raise IdentityError(f"{path} holds from {begins}; set this machine's clock, or wait")
    if now > certificate.not_valid_after_utc:
        raise IdentityError(f"{path} expired on {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC; renew it")
