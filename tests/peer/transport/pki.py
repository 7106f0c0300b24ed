"""Certificates for tests, valid and otherwise."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from surefed.peer.transport.tls import Credentials


class Authority:
    """A certificate authority of a test, with its files below a folder."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.key = folder, ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        own = _builder(self.name, self.name, self.key, timedelta(days=1)).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        usage = dict.fromkeys(
            ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"), False
        )
        usage |= dict.fromkeys(("key_agreement", "crl_sign", "encipher_only", "decipher_only"), False)
        own = own.add_extension(x509.KeyUsage(key_cert_sign=True, **usage), critical=True)
        self.certificate = own.sign(self.key, hashes.SHA256())
        self.file = folder / "ca.pem"
        self.file.write_bytes(self.certificate.public_bytes(Encoding.PEM))

    def issue(self, site: str, *, valid: timedelta = timedelta(days=1), address: str = "127.0.0.1") -> Credentials:
        """A certificate and key for a site that is dialled at `address`; a negative `valid` has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(address))]
        built = _builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, site)]), self.name, key, valid)
        built = built.add_extension(x509.SubjectAlternativeName(names), critical=False)
        uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        built = built.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        certificate = self.folder / f"{site}.pem"
        certificate.write_bytes(built.sign(self.key, hashes.SHA256()).public_bytes(Encoding.PEM))
        private = self.folder / f"{site}.key"
        private.touch(mode=0o600)
        private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return Credentials(self.file, certificate, private)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, valid: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=2))
        .not_valid_after(now + valid)
    )
