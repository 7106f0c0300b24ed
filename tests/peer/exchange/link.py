"""A bad link between two network namespaces: packets wait, queue up and get lost, as on a long line.

Two tun devices and a loop between them, so it needs the right to make namespaces but no module of the kernel for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import random
import select
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0001, 0x1000, 0x40000000
DEVICE = "sf0"
HOSTS = ("10.77.0.1", "10.77.0.2")


@dataclass(frozen=True)
class Line:
    """rate: bytes a second each way. delay: seconds one way. loss: share of packets. queue: bytes that may wait."""

    rate: float
    delay: float
    loss: float
    queue: int = 500_000
    seed: int = 0


class Direction:
    """Packets under way in one direction, in order."""

    def __init__(self, line: Line, source: int, target: int, rng: random.Random) -> None:
        self.line, self.source, self.target, self.rng = line, source, target, rng
        self.under_way: deque[tuple[float, bytes]] = deque()
        self.free = 0.0
        self.lost = 0

    def take(self) -> None:
        """Read what is there; each packet leaves when the line is free and arrives a delay later."""
        with contextlib.suppress(BlockingIOError):
            while True:
                packet, now = os.read(self.source, 2000), time.monotonic()
                self.free = max(self.free, now)
                if self.rng.random() < self.line.loss or (self.free - now) * self.line.rate > self.line.queue:
                    self.lost += 1
                    continue
                self.free += len(packet) / self.line.rate
                self.under_way.append((self.free + self.line.delay, packet))

    def give(self) -> None:
        while self.under_way and self.under_way[0][0] <= time.monotonic():
            with contextlib.suppress(OSError):
                os.write(self.target, self.under_way.popleft()[1])

    def due(self) -> float:
        return max(0.0, self.under_way[0][0] - time.monotonic()) if self.under_way else 0.2


def tun(namespace: str) -> int:
    """A tun device inside a namespace; its file works from outside."""
    libc, here = ctypes.CDLL(None, use_errno=True), os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
    try:
        if libc.setns(there, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "cannot enter a network namespace")
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    finally:
        libc.setns(here, CLONE_NEWNET)
    return device


def forward(namespaces: list[str], line: Line) -> None:
    """Carry packets until standard input ends."""
    one, two = (tun(name) for name in namespaces)
    rng = random.Random(line.seed)
    ways = [Direction(line, one, two, rng), Direction(line, two, one, rng)]
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([one, two, sys.stdin], [], [], min(way.due() for way in ways))
        if sys.stdin in ready:
            return
        for way in ways:
            way.take()
            way.give()


@contextlib.contextmanager
def linked(line: Line) -> Iterator[list[str]]:
    """Two namespaces, at HOSTS, with such a line between them. OSError where that is not permitted."""
    names = [f"sf{os.getpid()}{end}" for end in "ab"]
    with contextlib.ExitStack() as stack:
        for name in names:
            _ip("netns", "add", name)
            stack.callback(_ip, "netns", "del", name)
        command = [sys.executable, str(Path(__file__)), json.dumps([names, asdict(line)])]
        carrier = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        stack.callback(carrier.kill)
        assert carrier.stdout is not None
        if carrier.stdout.readline() != "ready\n":
            raise OSError("cannot make a tun device in a network namespace")
        for name, own, other in zip(names, HOSTS, reversed(HOSTS), strict=True):
            _ip("-n", name, "addr", "add", own, "peer", other, "dev", DEVICE)
            _ip("-n", name, "link", "set", DEVICE, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield names


def _ip(*words: str) -> None:
    try:
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise OSError(error.stderr.strip()) from None


if __name__ == "__main__":
    told, terms = json.loads(sys.argv[1])
    forward(told, Line(**terms))
