"""A network inside one process: for tests, and for whoever wants to see a federation without a socket.

`Network.pass_on` is the wire: it sees every message and may change, lose or delay it, as a relay could.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as NotInTime

from surefed.peer.identity.names import checked_site
from surefed.peer.transport.base import LIMITS, Answer, Hear, Limits, Reply
from surefed.peer.transport.lane import Lane

PassOn = Callable[[str, str, bytes], bytes | None]
WAITING = 256
"""How many messages wait at a busy site; more are lost."""


class Network:
    """The sites that are open, and the wire between them."""

    def __init__(self, pass_on: PassOn | None = None) -> None:
        self.pass_on: PassOn = pass_on or (lambda source, target, message: message)
        self.sites: dict[str, MemoryTransport] = {}
        self.frozen: set[str] = set()
        """Sites that are there and do nothing, like a process that was sent SIGSTOP."""

    def carry(self, source: str, target: str, message: bytes) -> bytes | None:
        """What arrives of a message, if anything."""
        if source in self.frozen or target in self.frozen:
            return None
        return self.pass_on(source, target, message)


class MemoryTransport:
    """One site of a network in memory, with one thread that answers and hears."""

    def __init__(self, site: str, network: Network, *, limits: Limits = LIMITS) -> None:
        self.site = checked_site(site)
        self._network = network
        self._limits = limits
        self._lane: Lane | None = None
        self._followed: frozenset[str] = frozenset()
        self._last: bytes | None = None
        self._asking: set[Future[Reply | None]] = set()

    def open(self, answer: Answer, hear: Hear) -> None:
        """Take the site's place in the network; whoever follows the others hears their last posts."""
        self._answer, self._hear = answer, hear
        self._lane = Lane(f"memory {self.site}", WAITING)
        self._network.sites[self.site] = self

    def admit(self, sites: Collection[str]) -> None:
        """Whoever is on the network may speak."""

    def follow(self, sites: Collection[str]) -> None:
        """Hear these sites from now on, beginning with their last post."""
        new = frozenset(sites) - self._followed
        self._followed = frozenset(sites)
        for site in new:
            other = self._network.sites.get(site)
            if other is not None and other._last is not None:
                self._arrive(site, other._last)

    def post(self, message: bytes) -> None:
        """Give a message to every follower, and keep it for those who come later."""
        self._limits.check("post", message)
        self._last = message
        for other in list(self._network.sites.values()):
            other._arrive(self.site, message)

    def ask(self, site: str, request: bytes, *, timeout: float) -> bytes | None:
        """Have the other site's thread answer."""
        self._limits.check("request", request)
        other = self._network.sites.get(site)
        if other is None or self._lane is None:
            return None
        reply: Future[Reply | None] = Future()
        arrived = self._network.carry(self.site, site, request)
        if arrived is not None and len(arrived) <= other._limits.request:
            other._do(lambda: _settle(reply, other._answer(arrived)))
        self._asking.add(reply)
        try:
            answered = reply.result(timeout)
        except NotInTime:
            return None
        finally:
            self._asking.discard(reply)
        back = self._network.carry(site, self.site, answered.message) if answered is not None else None
        return back if back is not None and len(back) <= self._limits.reply else None

    def present(self) -> frozenset[str]:
        """Who is open and not frozen."""
        if self._lane is None:
            return frozenset()
        return frozenset(self._network.sites) - self._network.frozen - {self.site}

    def close(self) -> None:
        """Leave the network and end the thread."""
        if self._network.sites.get(self.site) is self:
            del self._network.sites[self.site]
        if self._lane is not None:
            self._lane.close()
            self._lane = None
        for reply in list(self._asking):
            _settle(reply, None)

    def _arrive(self, source: str, message: bytes) -> None:
        if source not in self._followed:
            return
        arrived = self._network.carry(source, self.site, message)
        if arrived is not None and len(arrived) <= self._limits.post:
            self._do(lambda: self._hear(source, arrived))

    def _do(self, task: Callable[[], None]) -> None:
        lane = self._lane
        if lane is not None:
            lane.add(task)


def _settle(reply: Future[Reply | None], answer: Reply | None) -> None:
    with contextlib.suppress(InvalidStateError):  # it was closed meanwhile
        reply.set_result(answer)
