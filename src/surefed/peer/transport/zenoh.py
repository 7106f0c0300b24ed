"""Sites connected by zenoh: mutual TLS on every link, presence, and relays for sites that can only dial out.

zenoh drops messages without a word (a full queue, a frozen peer, a message too long), so posts are a hint and an answer
is the only proof. Three keys a site: `sf/post/SITE` for its posts, `sf/pull/SITE` for questions, `sf/live/SITE` while
it is there.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import zenoh

from surefed.core import NetworkError
from surefed.peer.identity.names import checked_site
from surefed.peer.transport.access import ROOT
from surefed.peer.transport.base import LIMITS, Answer, Hear, Limits
from surefed.peer.transport.configuration import DIAL, configuration, plain_words
from surefed.peer.transport.lane import Lane, Turns
from surefed.peer.transport.tls import Credentials

POSTS = 8
"""Posts of one site that wait to be heard; of more the newest are kept."""
QUESTIONS = 256
"""Questions that wait to be answered; more are dropped, and asked again by whoever misses the answer."""
IN_FLIGHT = 4
"""Replies that wait for one asker; an honest one has two questions open at most."""

LOOK = 0.02
"""Seconds between two looks for a sign of a site that is asked."""


class ZenohTransport:
    """One site's sessions: one with the sites it reaches and that reach it, one with the relay where there is one."""

    def __init__(
        self,
        site: str,
        *,
        sites: Collection[str],
        listen: str | None,
        addresses: Mapping[str, str],
        tls: Credentials,
        relay: str | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        """`listen` and the addresses are host:port; without `listen` the site only dials out."""
        self.site = checked_site(site)
        self._tls = tls
        self._limits = limits
        dial = [address for name, address in sorted(addresses.items()) if name != site]
        self._sites = frozenset(sites)
        configure = partial(configuration, tls=tls, limits=limits)
        direct = listen is not None or dial or relay is None
        self._direct = partial(configure, "peer", listen=listen, dial=dial) if direct else None
        self._relayed = partial(configure, "client", listen=None, dial=[relay]) if relay is not None else None
        self._straight: _Session | None = None
        self._closed = threading.Event()
        self._sessions: list[_Session] = []
        self._followed: frozenset[str] = frozenset()
        self._last: bytes | None = None
        self._lanes: dict[str, Lane] = {}
        self._hearing: Turns | None = None
        self._lock = threading.Lock()

    def open(self, answer: Answer, hear: Hear) -> None:
        """Check the certificate files, then connect in the background, for as long as it takes."""
        self._tls.check(self.site)
        self._answer, self._hear = answer, hear
        self._hearing = Turns(f"zenoh {self.site} hear", POSTS)
        atexit.register(self.close)  # an open callback would keep the interpreter from ending
        self._closed.clear()
        if self._direct is not None:
            try:
                self._straight = self._add(self._direct(sites=self._sites))
            except zenoh.ZError as error:
                self.close()
                raise NetworkError(f"{self.site} cannot open its transport: {plain_words(error)}") from None
        if self._relayed is not None:
            self._give("dial", 1, self._meet)

    def _meet(self) -> None:
        """Open the session with the relay as soon as it is there; from then on zenoh finds it again by itself."""
        assert self._relayed is not None
        while not self._closed.is_set():
            try:
                self._add(self._relayed(sites=self._sites))
                return
            except zenoh.ZError:
                self._closed.wait(DIAL)
        return

    def _add(self, config: zenoh.Config) -> _Session:
        session = _Session(self, config)
        self._sessions = [*self._sessions, session]
        session.follow(self._followed)
        session.post()
        return session

    def admit(self, sites: Collection[str]) -> None:
        """Let these sites in: zenoh reads its rules when a session is opened, so the direct one is opened anew."""
        before, self._sites = self._sites, frozenset(sites)
        old = self._straight
        if self._sites == before or old is None or self._direct is None or self._closed.is_set():
            return
        self._sessions = [session for session in self._sessions if session is not old]
        old.close()
        while not self._closed.is_set():
            try:
                self._straight = self._add(self._direct(sites=self._sites))
                return
            except zenoh.ZError:  # the port is not free yet
                self._closed.wait(0.2)

    def follow(self, sites: Collection[str]) -> None:
        """Subscribe to these sites and no others, and fetch the last post of the new ones."""
        self._followed = frozenset(sites) - {self.site}
        for session in self._sessions:
            session.follow(self._followed)

    def post(self, message: bytes) -> None:
        """Leave it to the posting lane: a slow follower must not hold up whoever posts."""
        self._limits.check("post", message)
        self._last = message
        for session in self._sessions:
            session.post()

    def ask(self, site: str, request: bytes, *, timeout: float) -> bytes | None:
        """Ask where the site seems to be, the direct way first; without a sign of it, wait for one."""
        self._limits.check("request", request)
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0 and not self._closed.is_set():
            for session in self._sessions:
                if site in session.present:
                    reply = session.ask(site, request, left)
                    return reply if reply is not None and len(reply) <= self._limits.reply else None
            self._closed.wait(min(LOOK, left))
        return None

    def present(self) -> frozenset[str]:
        """The sites whose tokens of life are seen."""
        return frozenset().union(*(session.present for session in self._sessions)) - {self.site}

    def close(self) -> None:
        """Close the sessions, then the lanes that may be writing to them."""
        atexit.unregister(self.close)
        self._closed.set()
        with self._lock:
            dialling = self._lanes.pop("dial", None)
        if dialling is not None:
            dialling.close()
        sessions, self._sessions = self._sessions, []
        for session in sessions:
            session.close()
        with self._lock:
            lanes, self._lanes = self._lanes, {}
        for lane in lanes.values():
            lane.close()
        if self._hearing is not None:
            self._hearing.close()

    def last(self) -> bytes | None:
        """Our last post."""
        return self._last

    def arrived(self, key: str, payload: zenoh.ZBytes) -> None:
        """A post, on one of zenoh's threads: note it and go."""
        site, hearing = key.rpartition("/")[2], self._hearing
        if len(payload) <= self._limits.post and site in self._followed and hearing is not None:
            message = payload.to_bytes()
            hearing.add(site, lambda: self._hear(site, message))

    def asked(self, query: zenoh.Query) -> None:
        """A question, on one of zenoh's threads: note it and go. A question that is dropped ends without an answer."""
        if query.payload is not None and len(query.payload) <= self._limits.request:
            self._give("answer", QUESTIONS, lambda: self._reply(query))

    def _reply(self, query: zenoh.Query) -> None:
        assert query.payload is not None
        reply = self._answer(query.payload.to_bytes())
        if reply is not None:
            self._give(f"reply {reply.asker}", IN_FLIGHT, lambda: self._send(query, reply.message))

    def _send(self, query: zenoh.Query, message: bytes) -> None:
        with contextlib.suppress(zenoh.ZError):  # the asker went away
            query.reply(f"{ROOT}/pull/{self.site}", message)

    def _give(self, name: str, most: int, task: Callable[[], None]) -> None:
        """Give a task to the lane of that name, unless too many wait there, or all is over."""
        with self._lock:
            if self._closed.is_set():
                return
            if name not in self._lanes:
                self._lanes[name] = Lane(f"zenoh {self.site} {name}", most)
            self._lanes[name].add(task)


class _Session:
    """One zenoh session: the keys declared on it, and who is alive there."""

    def __init__(self, owner: ZenohTransport, config: zenoh.Config) -> None:
        self.present: frozenset[str] = frozenset()
        self._owner = owner
        self._lock, self._alive = threading.Lock(), threading.Lock()
        self._subscribers: dict[str, zenoh.Subscriber[None]] = {}
        self._fetching: set[str] = set()
        self._zenoh = zenoh.open(config)
        self._posting = Lane(f"zenoh {owner.site} post", 1)
        post, pull, live = (f"{ROOT}/{kind}/{owner.site}" for kind in ("post", "pull", "live"))
        self._publisher = self._zenoh.declare_publisher(
            post, congestion_control=zenoh.CongestionControl.BLOCK, priority=zenoh.Priority.INTERACTIVE_HIGH
        )
        self._zenoh.declare_queryable(post, _direct(self._recall))
        self._zenoh.declare_queryable(pull, _direct(owner.asked))
        self._zenoh.liveliness().declare_subscriber(f"{ROOT}/live/*", _direct(self._sign_of_life), history=True)
        self._token = self._zenoh.liveliness().declare_token(live)

    def follow(self, sites: frozenset[str]) -> None:
        with self._lock:
            for site in self._subscribers.keys() - sites:
                self._subscribers.pop(site).undeclare()
            new = sites - self._subscribers.keys()
            for site in new:
                key = f"{ROOT}/post/{site}"
                self._subscribers[site] = self._zenoh.declare_subscriber(key, _direct(self._arrived))
        for site in new & self.present:
            self._fetch(site)

    def post(self) -> None:
        self._posting.add(self._put)

    def ask(self, site: str, request: bytes, timeout: float) -> bytes | None:
        """The first reply; a question that comes back without one was lost with its link, or not answered."""
        with contextlib.suppress(zenoh.ZError):  # closed meanwhile
            replies = self._zenoh.get(
                f"{ROOT}/pull/{site}",
                payload=request,
                timeout=timeout,
                congestion_control=zenoh.CongestionControl.BLOCK,
                consolidation=zenoh.ConsolidationMode.NONE,
            )
            for reply in replies:
                if reply.ok is not None:
                    return reply.ok.payload.to_bytes()
        return None

    def close(self) -> None:
        with contextlib.suppress(zenoh.ZError):  # "timed out", after 10 s: rare, and there is nobody left to tell
            self._zenoh.close()
        self._posting.close()

    def _put(self) -> None:
        message = self._owner.last()
        if message is not None:
            with contextlib.suppress(zenoh.ZError):  # closed meanwhile
                self._publisher.put(message)

    def _fetch(self, site: str) -> None:
        """Have the site's last post come again, if it is there."""
        key = f"{ROOT}/post/{site}"
        self._fetching.add(site)
        self._zenoh.get(key, _direct(self._fetched), timeout=10.0, priority=zenoh.Priority.INTERACTIVE_HIGH)

    def _fetched(self, reply: zenoh.Reply) -> None:
        """The post that was fetched, unless a newer one came by itself meanwhile."""
        if reply.ok is not None and str(reply.ok.key_expr).rpartition("/")[2] in self._fetching:
            self._arrived(reply.ok)

    def _arrived(self, sample: zenoh.Sample) -> None:
        key = str(sample.key_expr)
        self._fetching.discard(key.rpartition("/")[2])
        self._owner.arrived(key, sample.payload)

    def _recall(self, query: zenoh.Query) -> None:
        message = self._owner.last()
        if message is not None:
            query.reply(f"{ROOT}/post/{self._owner.site}", message)

    def _sign_of_life(self, sample: zenoh.Sample) -> None:
        site = str(sample.key_expr).rpartition("/")[2]
        gone = sample.kind == zenoh.SampleKind.DELETE
        with self._alive:
            self.present = self.present - {site} if gone else self.present | {site}
        if not gone and site in self._subscribers:
            self._fetch(site)


def _direct(callback: Any) -> Any:
    """Call back on zenoh's own thread: an indirect callback would queue without bound."""
    return zenoh.handlers.Callback(callback, indirect=False)
