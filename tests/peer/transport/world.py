"""Sites that are connected one way or another, in this process or as processes of their own."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from surefed.peer.transport.base import LIMITS, Limits, Reply, Transport
from surefed.peer.transport.grpc import GrpcTransport
from surefed.peer.transport.memory import MemoryTransport, Network
from surefed.peer.transport.tls import Credentials
from surefed.peer.transport.zenoh import ZenohTransport
from tests.peer.transport.pki import Authority

SITES = ("ada", "bob", "cyd")
KINDS = ("memory", "grpc", "zenoh")


_TURN = itertools.count()


def free_port() -> int:
    """A port that nobody listens on, of this worker's own, and below those that outgoing connections are given."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    while True:
        port = 20_000 + 1_000 * (worker % 12) + next(_TURN) % 1_000
        with socket.socket() as found, contextlib.suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port


def eventually(holds: Callable[[], object], seconds: float = 60.0) -> bool:
    """Whether something comes true soon."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def connect(
    kind: str,
    site: str,
    addresses: dict[str, str],
    tls: Credentials,
    limits: Limits = LIMITS,
    listen: str | None = None,
) -> GrpcTransport | ZenohTransport:
    """A transport over sockets, not opened yet."""
    if kind == "grpc":
        return GrpcTransport(site, listen=listen or addresses[site], addresses=addresses, tls=tls, limits=limits)
    listen = listen or addresses[site]
    return ZenohTransport(site, sites=sorted(addresses), listen=listen, addresses=addresses, tls=tls, limits=limits)


@dataclass
class Place:
    """An open transport that echoes, and what it has heard and been asked."""

    transport: Transport
    heard: list[tuple[str, bytes]] = field(default_factory=list)
    asked: list[bytes] = field(default_factory=list)

    def answer(self, request: bytes) -> Reply | None:
        self.asked.append(request)
        return None if request == b"silence" else Reply("somebody", request[::-1])

    def hear(self, site: str, post: bytes) -> None:
        self.heard.append((site, post))


class World:
    """Three sites and what they need to find each other."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.network = Network()
        self.authority = Authority(folder / "pki")
        self.addresses = {site: f"127.0.0.1:{free_port()}" for site in SITES}
        self.places: list[Place] = []
        self.processes: list[Process] = []

    def transport(self, site: str, *, tls: Credentials | None = None, limits: Limits = LIMITS) -> Transport:
        """A transport that is not open yet."""
        if self.kind == "memory":
            return MemoryTransport(site, self.network, limits=limits)
        return connect(self.kind, site, self.addresses, tls or self.authority.issue(site), limits)

    def open(self, site: str, *, tls: Credentials | None = None, limits: Limits = LIMITS) -> Place:
        place = Place(self.transport(site, tls=tls, limits=limits))
        self.places.append(place)
        place.transport.open(place.answer, place.hear)
        return place

    def start(self, site: str, **told: str) -> Process:
        """The site as a process of its own, or what comes nearest in memory."""
        process = Process(self, site, told)
        self.processes.append(process)
        process.start()
        return process

    def close(self) -> None:
        for process in self.processes:
            process.end()
        for place in self.places:
            place.transport.close()


class Process:
    """A site that can be frozen, killed and started again; it posts once and echoes."""

    def __init__(self, world: World, site: str, told: dict[str, str]) -> None:
        self.world, self.site, self.told = world, site, told
        self.popen: subprocess.Popen[str] | None = None
        self.place: Place | None = None
        if world.kind != "memory":
            self.files = world.authority.issue(site)

    def start(self) -> None:
        if self.world.kind == "memory":
            self.place = self.world.open(self.site)
            self.place.transport.post(b"post of " + self.site.encode())
            return
        told = self.told | {
            "kind": self.world.kind,
            "site": self.site,
            "addresses": self.world.addresses,
            "files": [str(path) for path in (self.files.authority, self.files.certificate, self.files.key)],
        }
        command = [sys.executable, "-m", "tests.peer.transport.echo", json.dumps(told)]
        self.popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.popen.stdout is not None
        assert self.popen.stdout.readline() == "ready\n"

    def signal(self, number: int) -> None:
        assert self.popen is not None
        os.kill(self.popen.pid, number)

    def freeze(self) -> None:
        if self.popen is None:
            self.world.network.frozen.add(self.site)
        else:
            assert self.popen is not None
            self.signal(signal.SIGSTOP)
            frozen = psutil.Process(self.popen.pid)
            assert eventually(lambda: frozen.status() == psutil.STATUS_STOPPED)
            time.sleep(0.2)  # its threads stop one after the other

    def thaw(self) -> None:
        if self.popen is None:
            self.world.network.frozen.discard(self.site)
        else:
            self.signal(signal.SIGCONT)

    def kill(self) -> None:
        if self.popen is None:
            assert self.place is not None
            self.place.transport.close()
        else:
            self.signal(signal.SIGKILL)
            self.end()

    def end(self) -> None:
        if self.popen is not None:
            self.popen.kill()
            self.popen.communicate()
            self.popen = None
