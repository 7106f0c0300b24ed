from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest

from surefed.core import ConfigError, IdentityError, RecordError
from surefed.peer.identity import Authority, found, new_keys, read_members, read_request

from ..made import copied, made


def test_the_authoritys_key_is_for_the_founder_alone(tmp_path: Path) -> None:
    found(tmp_path, "ours")
    assert stat.S_IMODE((tmp_path / "ca.key").stat().st_mode) == 0o600
    with pytest.raises(RecordError, match="never overwritten"):
        found(tmp_path, "ours")


def test_every_approval_is_listed(tmp_path: Path) -> None:
    members = read_members(made().folder / "authority" / "members.json")
    assert list(members) == ["north", "south", "east", "west"]
    for site, identity in made().identities.items():
        assert members[site].signing == identity.signing
        assert members[site].certificate == identity.fingerprint


@pytest.mark.parametrize(
    "text", ["", "[]", '{"north": 1}', '{"north": {"site": "south"}}', '{"a": {}, "a": {}}', '{"north": {"extra": 1}}']
)
def test_a_damaged_list_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "members.json"
    path.write_text(text)
    with pytest.raises(IdentityError, match="not a list of members"):
        read_members(path)


def test_a_member_listed_under_another_name_is_refused(tmp_path: Path) -> None:
    path = copied(tmp_path) / "authority" / "members.json"
    path.write_text(path.read_text().replace('"north": {', '"centre": {'))
    with pytest.raises(IdentityError, match="under another name"):
        read_members(path)


@pytest.mark.parametrize("name", ["", "two\nlines", "x" * 61])
def test_what_an_authority_may_not_be_called(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="one line"):
        found(tmp_path, name)


def test_without_the_authoritys_key_nothing_is_approved(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    places = new_keys("centre", ("localhost",), tmp_path / "centre")
    (folder / "authority" / "ca.key").unlink()
    with pytest.raises(IdentityError, match="there is no key"):
        Authority(folder / "authority").approve(read_request(places.request))
    assert not (folder / "authority" / "centre.pem").exists()


def handshake(client: ssl.SSLContext, server: ssl.SSLContext, host: str) -> None:
    """A TLS handshake in memory; ssl.SSLError if either side refuses."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server, server_hostname=host)
    far = server.wrap_bio(to_server, to_client, server_side=True)
    pending = [near, far]
    for _ in range(10):
        for side in list(pending):
            try:
                side.do_handshake()
                pending.remove(side)
            except ssl.SSLWantReadError:
                continue
        if not pending:
            far.write(b"hello")
            assert near.read(5) == b"hello"
            return
    raise AssertionError("the handshake does not end")


def context(purpose: ssl.Purpose, folder: Path, site: str) -> ssl.SSLContext:
    chosen = ssl.create_default_context(purpose, cafile=folder / site / "ca.pem")
    chosen.load_cert_chain(folder / site / f"{site}.pem", folder / site / f"{site}.key")
    chosen.verify_mode = ssl.CERT_REQUIRED
    chosen.verify_flags |= ssl.VERIFY_X509_STRICT
    return chosen


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_certificates_serve_both_ends_of_a_mutual_tls_link(host: str) -> None:
    folder = made().folder
    near = context(ssl.Purpose.SERVER_AUTH, folder, "north")
    handshake(near, context(ssl.Purpose.CLIENT_AUTH, folder, "south"), host)


def test_a_link_to_another_name_is_refused() -> None:
    folder = made().folder
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(
            context(ssl.Purpose.SERVER_AUTH, folder, "north"),
            context(ssl.Purpose.CLIENT_AUTH, folder, "south"),
            "x.org",
        )
