"""Sites that can only dial out meet at a relay, which admits members and passes on what they say on their own keys."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import zenoh

from surefed.core import IdentityError
from surefed.peer.charter import CharterFile, admit, propose, write_charter
from surefed.peer.exchange import Exchange, Received
from surefed.peer.identity import Authority
from surefed.peer.transport.base import LIMITS
from surefed.peer.transport.configuration import configuration
from surefed.peer.transport.relay import Relay
from surefed.peer.transport.tls import Credentials
from surefed.peer.transport.zenoh import ZenohTransport
from tests.peer.exchange.rig import belief, hear
from tests.peer.exchange.sockets import credentials, large, over_transport
from tests.peer.made import SITES, copied, made, signed
from tests.peer.transport.world import Place, eventually, free_port

BELIEF = large(200_000)  # 1.6 MB: two chunks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A federation's files, and a certificate for a relay called hub, which is no member."""
    folder = copied(tmp_path)
    admit(Authority(folder / "authority"), "hub", folder / "hub")
    return folder


class Meeting:
    """A relay, and sites that meet there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.address = folder, f"127.0.0.1:{free_port()}"
        files = (folder / "hub" / name for name in ("ca.pem", "hub.pem", "hub.key"))
        charter = CharterFile(folder / "federation.charter")
        self.relay = Relay("hub", listen=self.address, charter=charter, tls=Credentials(*files))
        self.relay.open()
        self.open: list[Exchange | ZenohTransport] = []

    def transport(self, site: str, *, listen: str | None = None, **addresses: str) -> ZenohTransport:
        tls = credentials(site)
        return ZenohTransport(site, sites=SITES, listen=listen, addresses=addresses, tls=tls, relay=self.address)

    def place(self, site: str) -> Place:
        place = Place(self.transport(site))
        self.open.append(place.transport)
        place.transport.open(place.answer, place.hear)
        return place

    def exchange(self, site: str, listen: str | None = None, **addresses: str) -> Exchange:
        transport = self.transport(site, listen=listen, **addresses)
        exchange = over_transport(transport, site, BELIEF, self.folder)
        self.open.append(exchange)
        return exchange

    def close(self) -> None:
        for one in self.open:
            one.close()
        self.relay.close()


@pytest.fixture
def meeting(folder: Path) -> Iterator[Meeting]:
    made = Meeting(folder)
    yield made
    made.close()


def test_two_sites_that_only_dial_out_exchange_beliefs(meeting: Meeting) -> None:
    north, south = meeting.exchange("north"), meeting.exchange("south")
    payload = belief(1, BELIEF.weights)
    north.publish(1, payload)
    assert hear(south, 1, "north").beliefs == {"north": Received(1, payload)}
    south.publish(1, payload)
    assert hear(north, 1, "south").beliefs == {"south": Received(1, payload)}
    assert north.present() == {"south"}
    assert north.refused() == south.refused() == {}


def test_a_site_that_is_reachable_meets_those_who_are_not_both_ways(meeting: Meeting) -> None:
    """East listens. South dials east and the relay, north the relay only; all three hear each other."""
    at = f"127.0.0.1:{free_port()}"
    sites = {"east": meeting.exchange("east", listen=at)}
    sites |= {"south": meeting.exchange("south", east=at), "north": meeting.exchange("north")}
    for site, exchange in sites.items():
        exchange.publish(1, belief(SITES.index(site), BELIEF.weights))
    for site, exchange in sites.items():
        assert hear(exchange, 1, *sites).beliefs.keys() == sites.keys() - {site}


def test_a_relay_that_was_away_is_found_again(meeting: Meeting) -> None:
    north, south = meeting.place("north"), meeting.place("south")
    assert north.transport.ask("south", b"hello", timeout=60) == b"olleh"
    meeting.relay.close()
    assert north.transport.ask("south", b"hello", timeout=0.5) is None
    meeting.relay.open()
    assert north.transport.ask("south", b"hello", timeout=60) == b"olleh"
    south.transport.follow(["north"])
    north.transport.post(b"back again")
    assert eventually(lambda: ("north", b"back again") in south.heard)


def test_sites_may_start_before_the_relay(folder: Path) -> None:
    meeting = Meeting(folder)
    meeting.relay.close()
    north = meeting.place("north")
    meeting.place("south")
    assert north.transport.ask("south", b"hello", timeout=0.2) is None
    meeting.relay.open()
    assert north.transport.ask("south", b"hello", timeout=60) == b"olleh"
    meeting.close()


def test_a_member_does_not_speak_for_another_through_the_relay(meeting: Meeting) -> None:
    south = meeting.place("south")
    south.transport.follow(["north", "east"])
    tls = credentials("east")
    with zenoh.open(
        configuration("client", listen=None, dial=[meeting.address], tls=tls, sites=SITES, limits=LIMITS)
    ) as east:
        east.declare_queryable("sf/pull/north", lambda query: query.reply(query.key_expr, b"east's lie"))
        token = east.liveliness().declare_token("sf/live/north")

        def heard() -> bool:
            for site in ("north", "east"):
                east.put(f"sf/post/{site}", b"east's post", congestion_control=zenoh.CongestionControl.BLOCK)
            return ("east", b"east's post") in south.heard

        assert eventually(heard)
        assert {site for site, _ in south.heard} == {"east"}
        assert south.transport.ask("north", b"hello", timeout=0.5) is None
        meeting.place("north")
        assert south.transport.ask("north", b"hello", timeout=60) == b"olleh"
        token.undeclare()


def test_a_revoked_member_is_let_in_no_more_without_a_restart(meeting: Meeting) -> None:
    north, south, west = (meeting.place(site) for site in ("north", "south", "west"))
    assert west.transport.ask("north", b"hello", timeout=60) == b"olleh"
    stop = threading.Event()
    running = threading.Thread(target=meeting.relay.run, args=(stop, 0.05))
    running.start()
    revoked = signed(propose(made().charter, "revoke", "west"), "north", "south", "east")
    write_charter(meeting.folder / "federation.charter", revoked)
    assert eventually(lambda: "west" not in north.transport.present())
    assert eventually(lambda: south.transport.ask("north", b"hello", timeout=5) == b"olleh")
    assert west.transport.ask("north", b"hello", timeout=1) is None
    stop.set()
    running.join()


def test_a_relay_without_the_right_files_does_not_open(folder: Path) -> None:
    files = [folder / "hub" / name for name in ("ca.pem", "hub.pem", "hub.key")]
    charter = CharterFile(folder / "federation.charter")
    with pytest.raises(IdentityError, match="belongs to hub, not to relay2"):
        Relay("relay2", listen="127.0.0.1:0", charter=charter, tls=Credentials(*files)).open()


def test_the_command_runs_until_sigterm(folder: Path) -> None:
    program = "import typer; from surefed.cli.relay import relay_command; typer.run(relay_command)"
    where = ["--keys", str(folder / "hub"), "--listen", f"127.0.0.1:{free_port()}"]
    command = [sys.executable, "-c", program, str(folder / "federation.charter"), *where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline().startswith("relaying for north, south, east, west at 127.0.0.1:")
        os.kill(running.pid, signal.SIGTERM)
        assert running.wait(60) == 0
