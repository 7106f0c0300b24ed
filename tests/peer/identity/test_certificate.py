from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from surefed.core import IdentityError
from surefed.peer.identity import check_certificate, load_identity, read_certificate
from surefed.peer.identity.certificate import BOTH_ENDS, pem
from surefed.peer.identity.keys import load_tls

from ..made import copied, made

NOW = datetime.now(UTC)


def certificate(
    *,
    names: tuple[str, ...] = ("north",),
    usages: tuple[x509.ObjectIdentifier, ...] = BOTH_ENDS,
    hosts: tuple[x509.GeneralName, ...] = (x509.DNSName("localhost"),),
    begins: datetime = NOW - timedelta(days=2),
    expires: datetime = NOW + timedelta(days=2),
    key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey | None = None,
) -> x509.Certificate:
    """A certificate of the federation's own authority, for north's key, with something wrong about it."""
    folder = made().folder
    authority, signer = read_certificate(folder / "authority" / "ca.pem"), load_tls(folder / "authority" / "ca.key")
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name) for name in names])
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(authority.subject)
    builder = builder.public_key(key or load_tls(folder / "north" / "north.key").public_key())
    builder = builder.serial_number(1).not_valid_before(begins).not_valid_after(expires)
    if usages:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    return builder.sign(signer, SHA256())


def refused(wrong: x509.Certificate) -> str:
    folder = made().folder
    with pytest.raises(IdentityError) as error:
        check_certificate(
            wrong, read_certificate(folder / "authority" / "ca.pem"), "north", load_tls(folder / "north" / "north.key")
        )
    return str(error.value)


def test_the_plain_case_is_accepted() -> None:
    ca = read_certificate(made().folder / "authority" / "ca.pem")
    known = check_certificate(certificate(), ca, "north", load_tls(made().folder / "north" / "north.key"))
    assert known.hosts == ("localhost",)


def test_it_must_serve_both_ends_of_a_link() -> None:
    for usages in ((), (ExtendedKeyUsageOID.SERVER_AUTH,), (ExtendedKeyUsageOID.CLIENT_AUTH,)):
        assert "not for both ends of a link" in refused(certificate(usages=usages))


def test_it_must_name_a_host() -> None:
    assert "names no host" in refused(certificate(hosts=()))
    assert "names no host" in refused(certificate(hosts=(x509.RFC822Name("north@example.org"),)))


def test_it_must_have_one_name() -> None:
    assert "is of ''" in refused(certificate(names=()))
    assert "is of ''" in refused(certificate(names=("north", "south")))
    assert "is of 'south', not of 'north'" in refused(certificate(names=("south",)))


def test_its_key_must_be_the_sites_own_and_of_the_right_kind() -> None:
    assert "another private key" in refused(certificate(key=ec.generate_private_key(ec.SECP256R1()).public_key()))
    assert "not for an EC P-256 key" in refused(certificate(key=ec.generate_private_key(ec.SECP384R1()).public_key()))
    assert "not for an EC P-256 key" in refused(certificate(key=rsa.generate_private_key(65537, 2048).public_key()))


def test_with_an_expired_certificate_a_site_does_not_start(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    gone = certificate(expires=NOW - timedelta(seconds=1))
    (folder / "north" / "north.pem").write_text(pem(gone))
    with pytest.raises(IdentityError, match=r"the certificate of north expired on .*surefed keys renew"):
        load_identity("north", folder / "north")
    early = certificate(begins=NOW + timedelta(hours=1))
    (folder / "north" / "north.pem").write_text(pem(early))
    with pytest.raises(IdentityError, match=r"not valid before .* set this machine's clock"):
        load_identity("north", folder / "north")
