"""Only members' certificates open a link, and a site whose own files are wrong does not start."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from surefed.core import ConfigError, IdentityError, NetworkError
from surefed.peer.transport.grpc import GrpcTransport
from surefed.peer.transport.tls import Credentials
from surefed.peer.transport.zenoh import ZenohTransport
from tests.peer.transport.pki import Authority
from tests.peer.transport.world import SITES, Place, World, eventually


class Unchecked(Credentials):
    """The files of somebody who does not mind."""

    def check(self, name: str) -> datetime:
        return datetime.max


def unchecked(files: Credentials) -> Credentials:
    return Unchecked(files.authority, files.certificate, files.key)


@pytest.fixture(params=["grpc", "zenoh"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = World(request.param, tmp_path)
    yield made
    made.close()


def stranger_gets_nothing(world: World, tls: Credentials) -> None:
    """Somebody who calls himself cyd with these files hears nothing, is not heard and gets no answer; bob does."""
    ada, bob = world.open("ada"), world.open("bob")
    cyd = world.open("cyd", tls=unchecked(tls))
    for place, others in ((ada, ["bob", "cyd"]), (cyd, ["ada", "bob"])):
        place.transport.follow(others)
    ada.transport.post(b"for members")
    bob.transport.post(b"from bob")
    cyd.transport.post(b"from a stranger")
    assert bob.transport.ask("ada", b"hello", timeout=60) == b"olleh"
    assert eventually(lambda: ada.heard)
    assert cyd.transport.ask("ada", b"let me in", timeout=1) is None
    assert ada.transport.ask("cyd", b"who are you", timeout=1) is None
    assert cyd.heard == []
    assert set(ada.heard) == {("bob", b"from bob")}
    assert ada.asked == [b"hello"]
    assert cyd.asked == []


def test_the_certificate_of_another_authority_is_refused(world: World, tmp_path: Path) -> None:
    stranger_gets_nothing(world, Authority(tmp_path / "other").issue("cyd"))


def test_another_authoritys_certificate_is_refused_although_it_names_ours(world: World, tmp_path: Path) -> None:
    false = Authority(tmp_path / "other").issue("cyd")
    stranger_gets_nothing(world, Credentials(world.authority.file, false.certificate, false.key))


def test_an_expired_certificate_is_refused(world: World) -> None:
    stranger_gets_nothing(world, world.authority.issue("cyd", valid=-timedelta(hours=1)))


def test_a_certificate_of_no_member_asks_and_follows_nobody(world: World) -> None:
    ada, bob = world.open("ada"), world.open("bob")
    cyd = world.open("cyd", tls=unchecked(world.authority.issue("dan")))
    cyd.transport.follow(["ada", "bob"])
    ada.transport.post(b"for members")
    assert bob.transport.ask("ada", b"hello", timeout=60) == b"olleh"
    assert cyd.transport.ask("ada", b"let me in", timeout=1) is None
    assert cyd.heard == []
    assert ada.asked == [b"hello"]


def talk(address: str, context: ssl.SSLContext | None) -> bytes:
    """What a listener says to somebody without a certificate, or without TLS, before it hangs up."""
    host, _, port = address.partition(":")
    with contextlib.ExitStack() as stack:
        line = stack.enter_context(socket.create_connection((host, int(port)), timeout=60))
        try:
            if context is not None:
                line = stack.enter_context(context.wrap_socket(line))
            line.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            return line.recv(1000)
        except (ssl.SSLError, ConnectionError):
            return b""


def test_a_link_without_a_certificate_is_refused(world: World) -> None:
    world.open("ada")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    assert talk(world.addresses["ada"], context) == b""
    member = world.authority.issue("bob")
    context.load_cert_chain(member.certificate, member.key)
    if world.kind == "grpc":  # with a certificate it does speak, so the silence above was a refusal
        assert talk(world.addresses["ada"], context) != b""


def test_plain_tcp_is_refused(world: World) -> None:
    world.open("ada")
    said = talk(world.addresses["ada"], None)
    assert said == b"" or said[0] == 0x15  # hangs up, or a TLS alert and nothing more


def test_files_that_are_right_hold_until_their_date(tmp_path: Path) -> None:
    until = Authority(tmp_path).issue("ada", valid=timedelta(days=30)).check("ada")
    assert timedelta(days=29) < until - datetime.now(until.tzinfo) <= timedelta(days=30)


def test_files_that_are_wrong_are_named_with_the_fix(tmp_path: Path) -> None:
    home, away = Authority(tmp_path / "home"), Authority(tmp_path / "away")
    ada, bob, cyd = home.issue("ada"), home.issue("bob"), away.issue("cyd")
    gone = tmp_path / "gone.pem"
    cases = {
        f"cannot read {gone}: No such file": (Credentials(ada.authority, gone, ada.key), "ada"),
        "key is no certificate in PEM": (Credentials(ada.authority, ada.key, ada.key), "ada"),
        "is no private key in PEM": (Credentials(ada.authority, ada.certificate, _private(ada.certificate)), "ada"),
        "is not the key of the certificate": (Credentials(ada.authority, ada.certificate, bob.key), "ada"),
        "belongs to ada, not to bob": (ada, "bob"),
        "was not signed by": (Credentials(home.file, cyd.certificate, cyd.key), "cyd"),
        "expired on": (home.issue("old", valid=-timedelta(days=1)), "old"),
    }
    for words, (files, name) in cases.items():
        with pytest.raises(IdentityError, match=words):
            files.check(name)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    ada = Authority(tmp_path).issue("ada")
    ada.key.chmod(0o640)
    with pytest.raises(IdentityError, match=f"chmod 600 {ada.key}"):
        ada.check("ada")


def test_a_site_with_wrong_files_does_not_open(world: World) -> None:
    with pytest.raises(IdentityError, match="expired on"):
        world.open("ada", tls=world.authority.issue("ada", valid=-timedelta(days=1)))
    with pytest.raises(IdentityError, match="belongs to bob, not to ada"):
        world.open("ada", tls=world.authority.issue("bob"))


@pytest.mark.slow
def test_a_certificate_that_expires_ends_the_link(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is dialled closes it. zenoh does not always close a link that it has dialled itself, so cyd does that."""
    monkeypatch.setattr("surefed.peer.transport.grpc.CONNECTION_AGE", 1.0)
    world.open("ada")
    bob = world.open("bob")
    tls = world.authority.issue("cyd", valid=timedelta(seconds=6))
    expired = time.monotonic() + 7.0
    cyd = Place(world.transport("cyd", tls=tls))
    if world.kind == "zenoh":
        cyd = Place(ZenohTransport("cyd", sites=SITES, listen=None, addresses=world.addresses, tls=tls))
    world.places.append(cyd)
    cyd.transport.open(cyd.answer, cyd.hear)
    assert cyd.transport.ask("ada", b"hello", timeout=5) == b"olleh"
    time.sleep(max(0.0, expired - time.monotonic()))
    assert eventually(lambda: cyd.transport.ask("ada", b"hello", timeout=3) is None, 30)
    assert cyd.transport.ask("ada", b"hello", timeout=3) is None
    assert bob.transport.ask("ada", b"hello", timeout=60) == b"olleh"


def test_a_port_that_is_taken_is_an_error(world: World) -> None:
    host, _, port = world.addresses["ada"].partition(":")
    with socket.socket() as taken:
        taken.bind((host, int(port)))
        taken.listen()
        with pytest.raises(NetworkError, match="ada cannot"):
            world.open("ada")


def test_grpc_has_no_way_for_a_site_that_only_dials_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="use zenoh"):
        GrpcTransport("ada", listen=None, addresses={}, tls=Authority(tmp_path).issue("ada"))


def _private(path: Path) -> Path:
    path.chmod(0o600)
    return path
