from __future__ import annotations

import os
import stat
import traceback
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from surefed.core import ConfigError, IdentityError, RecordError, StorageError
from surefed.peer.charter import admit
from surefed.peer.identity import (
    Authority,
    Places,
    check_certificate,
    found,
    install,
    load_identity,
    new_keys,
    read_certificate,
    read_request,
    renew,
)
from surefed.peer.identity.files import write_private
from surefed.peer.identity.keys import load_signing, signing_keys, waiting

from ..made import copied, made

HOST = ("localhost",)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_private_keys_are_for_the_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        places = new_keys("north", HOST, tmp_path / "keys")
    finally:
        os.umask(before)
    assert mode(places.tls) == mode(places.signing) == 0o600
    assert mode(tmp_path / "keys") == 0o700


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    places = new_keys("north", HOST, tmp_path)
    held = places.tls.read_bytes(), places.signing.read_bytes()
    with pytest.raises(RecordError, match="never overwritten"):
        new_keys("north", HOST, tmp_path)
    with pytest.raises(RecordError, match="never overwritten"):
        write_private(places.tls, b"other")
    assert held == (places.tls.read_bytes(), places.signing.read_bytes())


@pytest.mark.parametrize("others", [0o640, 0o604, 0o660, 0o602])
def test_a_key_that_others_may_touch_is_not_used(tmp_path: Path, others: int) -> None:
    folder = copied(tmp_path)
    for name in ("north.key", "north.sign.key"):
        path = folder / "north" / name
        path.chmod(others)
        with pytest.raises(IdentityError, match=f"mode {others:04o}.*chmod 600"):
            load_identity("north", folder / "north")
        path.chmod(0o600)
    assert load_identity("north", folder / "north").site == "north"


def test_a_key_never_appears_in_what_is_shown_or_raised(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    identity = load_identity("north", folder / "north")
    path = folder / "north" / "north.sign.key"
    secret = load_signing(path).private_bytes_raw()
    text = path.read_text().splitlines()[1]
    shown = repr(identity) + str(identity)
    assert secret.hex() not in shown
    assert text not in shown
    path.write_text(path.read_text().replace("PRIVATE KEY", "PRIVATE  KEY"))
    with pytest.raises(IdentityError) as error:
        load_identity("north", folder / "north")
    told = "".join(traceback.format_exception(error.value))
    assert text not in told
    assert error.value.__cause__ is None


def test_the_request_holds_no_private_key(tmp_path: Path) -> None:
    places = new_keys("north", HOST, tmp_path)
    asked = places.request.read_bytes()
    assert b"PRIVATE" not in asked
    assert load_signing(places.signing).private_bytes_raw().hex().encode() not in asked
    assert read_request(places.request).hosts == HOST


@pytest.mark.parametrize("name", ["", "North", "a b", "../x", "-x", "x" * 41, "ca", "relay", "a/b", "a*", "ä"])
def test_what_a_site_may_not_be_called(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="no name for a site"):
        new_keys(name, HOST, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("host", ["", "host:7447", "a b", "-x", "http://x", "x" * 260])
def test_what_a_host_may_not_be(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigError, match="neither a host name nor an address"):
        new_keys("north", (host,), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_site_needs_a_host(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--host"):
        new_keys("north", (), tmp_path)


def test_a_certificate_names_the_site_and_every_host(tmp_path: Path) -> None:
    authority = found(tmp_path / "authority", "ours")
    hosts = ("peer.north.example", "10.0.0.7", "fd00::7")
    facts = admit(authority, "north", tmp_path / "north", hosts).facts
    assert facts.site == "north"
    assert facts.hosts == hosts
    assert timedelta(days=364) < facts.left() < timedelta(days=366)
    assert facts.begins < datetime.now(UTC) - timedelta(hours=23)  # for clocks that run a day behind


@pytest.mark.parametrize("missing", ["north.key", "north.sign.key", "north.pem", "ca.pem"])
def test_without_any_of_its_files_a_site_does_not_start(tmp_path: Path, missing: str) -> None:
    folder = copied(tmp_path)
    (folder / "north" / missing).unlink()
    with pytest.raises(IdentityError, match=f"there is no .*{missing}"):
        load_identity("north", folder / "north")


@pytest.mark.parametrize("damaged", ["north.key", "north.sign.key", "north.pem", "ca.pem"])
def test_with_any_of_its_files_damaged_a_site_does_not_start(tmp_path: Path, damaged: str) -> None:
    folder = copied(tmp_path)
    path = folder / "north" / damaged
    for content in (b"", b"\x00" * 70_000, path.read_bytes()[:100], path.read_bytes().replace(b"M", b"N")):
        path.write_bytes(content)
        with pytest.raises(IdentityError):
            load_identity("north", folder / "north")


def test_somebody_elses_files_do_not_fit(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    north, south = Places(folder / "north", "north"), Places(folder / "south", "south")
    own = north.tls.read_bytes()
    north.tls.write_bytes(south.tls.read_bytes())
    with pytest.raises(IdentityError, match="is for another private key"):
        load_identity("north", north.folder)
    north.tls.write_bytes(own)
    north.certificate.write_bytes(south.certificate.read_bytes())
    with pytest.raises(IdentityError, match="is of 'south', not of 'north'"):
        load_identity("north", north.folder)


def test_keys_of_another_kind_do_not_fit(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    north = Places(folder / "north", "north")
    tls, signing = north.tls.read_bytes(), north.signing.read_bytes()
    others = [rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP384R1())]
    pems = [key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) for key in others]
    for wrong in (*pems, signing):
        north.tls.write_bytes(wrong)
        with pytest.raises(IdentityError, match="not an EC P-256 key"):
            load_identity("north", north.folder)
    north.tls.write_bytes(tls)
    for wrong in (*pems, tls):
        north.signing.write_bytes(wrong)
        with pytest.raises(IdentityError, match="not an Ed25519 key"):
            load_identity("north", north.folder)


def test_another_authoritys_certificate_is_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    other = found(tmp_path / "other", "four sites")  # of the same name
    (folder / "north" / "ca.pem").write_bytes((other.folder / "ca.pem").read_bytes())
    with pytest.raises(IdentityError, match="not signed by this authority"):
        load_identity("north", folder / "north")


def test_a_members_certificate_is_no_authority(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    (folder / "north" / "ca.pem").write_bytes((folder / "north" / "north.pem").read_bytes())
    with pytest.raises(IdentityError, match="not the certificate of an authority"):
        load_identity("north", folder / "north")


def test_dates_are_checked_to_the_second() -> None:
    folder = made().folder
    own, ca = read_certificate(folder / "north" / "north.pem"), read_certificate(folder / "north" / "ca.pem")
    begins, expires = own.not_valid_before_utc, own.not_valid_after_utc
    second = timedelta(seconds=1)
    assert check_certificate(own, ca, "north", now=begins + second).site == "north"
    assert check_certificate(own, ca, "north", now=expires - second).site == "north"
    with pytest.raises(IdentityError, match=r"expired on \d{4}-.*surefed keys renew"):
        check_certificate(own, ca, "north", now=expires)
    with pytest.raises(IdentityError, match="set this machine's clock"):
        check_certificate(own, ca, "north", now=begins - second)
    with pytest.raises(IdentityError, match="authority's certificate expired"):
        check_certificate(own, ca, "north", now=ca.not_valid_after_utc + second)


def test_no_certificate_outlives_its_authority(tmp_path: Path) -> None:
    authority = found(tmp_path / "authority", "ours")
    facts = admit(authority, "north", tmp_path / "north", days=36_500).facts
    assert facts.expires == authority.certificate.not_valid_after_utc


def test_a_renewed_certificate_keeps_the_keys_and_the_hosts(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    before = load_identity("north", folder / "north")
    places = renew("north", folder / "north")
    authority = Authority(folder / "authority")
    authority.approve(read_request(places.request))
    after = install("north", authority.folder / "north.pem", None, folder / "north")
    assert after.signing == before.signing
    assert after.fingerprint != before.fingerprint
    assert after.facts.hosts == before.facts.hosts


def test_new_keys_wait_until_their_certificate_is_installed(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    before = load_identity("north", folder / "north")
    places = renew("north", folder / "north", ("elsewhere",), fresh=True)
    assert mode(waiting(places.tls)) == mode(waiting(places.signing)) == 0o600
    assert len(signing_keys("north", folder / "north")) == 2
    assert load_identity("north", folder / "north") == before  # still the old ones
    authority = Authority(folder / "authority")
    with pytest.raises(IdentityError, match=r"approved before with another signing key.*--new-keys"):
        authority.approve(read_request(places.request))
    member = authority.approve(read_request(places.request), new_keys=True)
    after = install("north", authority.folder / "north.pem", None, folder / "north")
    assert after.signing == member.signing != before.signing
    assert after.facts.hosts == ("elsewhere",)
    assert not waiting(places.tls).exists()
    assert not waiting(places.signing).exists()


def test_an_install_that_was_killed_half_way_is_finished_by_the_next(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    places = renew("north", folder / "north", fresh=True)
    authority = Authority(folder / "authority")
    member = authority.approve(read_request(places.request), new_keys=True)
    waiting(places.signing).replace(places.signing)  # the first of the two moves
    after = install("north", authority.folder / "north.pem", None, folder / "north")
    assert (after.signing, after.fingerprint) == (member.signing, member.certificate)


def test_a_certificate_that_does_not_fit_is_not_installed(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    before = load_identity("north", folder / "north")
    with pytest.raises(IdentityError, match="is of 'south'"):
        install("north", folder / "authority" / "south.pem", None, folder / "north")
    other = found(tmp_path / "other", "ours")
    other.approve(read_request(folder / "north" / "north.request"))
    with pytest.raises(IdentityError, match="another authority"):
        install("north", other.folder / "north.pem", other.folder / "ca.pem", folder / "north")
    assert load_identity("north", folder / "north") == before


def test_a_folder_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        new_keys("north", HOST, tmp_path / "file" / "keys")
