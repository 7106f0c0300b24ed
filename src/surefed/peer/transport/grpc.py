"""Sites connected by gRPC: mutual TLS, each site dials those it follows or asks, and every call has an end.

Two calls: `Ask`, a question and its answer; `Follow`, the last post, then every new one, with an empty message each
second between them as a sign of life (keepalive does not notice a frozen process). There is no relay: every site must
be reachable by those who hear it.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Collection, Coroutine, Iterable, Mapping
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any, TypeVar

os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # it tells standard error of every connection that ends

import grpc

from surefed.core import ConfigError, NetworkError
from surefed.peer.identity.names import checked_site
from surefed.peer.transport.base import LIMITS, Answer, Hear, Limits
from surefed.peer.transport.lane import Turns
from surefed.peer.transport.tls import Credentials

SERVICE = "surefed.Peer"
SIGN_OF_LIFE = 1.0
LEASE = 3.0
"""Seconds without a sign of life after which a site counts as gone."""
IN_FLIGHT = 8
"""Calls that one certificate may have open at once."""
PAUSES = (0.2, 4.0)
"""The first and the longest pause, in seconds, before a site is dialled again."""
CONNECTION_AGE = 600.0
"""Seconds after which a connection is made anew, so that an expired certificate does not live on with an old one."""
PATIENCE = 10.0
"""Seconds that closing may take."""
POSTS = 8
"""Posts of one site that wait to be heard; of more the newest are kept."""

T = TypeVar("T")
Context = Any
"""grpc.aio.ServicerContext, for which gRPC has no types."""


class GrpcTransport:
    """One site: a server for those who follow or ask it, a channel to each site that it follows or asks."""

    def __init__(
        self,
        site: str,
        *,
        listen: str | None,
        addresses: Mapping[str, str],
        tls: Credentials,
        limits: Limits = LIMITS,
    ) -> None:
        """`listen` and the addresses are host:port."""
        self.site = checked_site(site)
        if listen is None:
            raise ConfigError(
                f"{site} only dials out, and gRPC has no relay for it; give it a port that others reach, or use zenoh"
            )
        self._listen = listen
        self._addresses = {name: address for name, address in addresses.items() if name != site}
        self._admitted = frozenset(self._addresses)
        self._tls = tls
        self._limits = limits
        self._loop: asyncio.AbstractEventLoop | None = None
        self._followed: frozenset[str] = frozenset()
        self._following: dict[str, asyncio.Task[None]] = {}
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._seen: dict[str, float] = {}
        self._open_calls: Counter[str] = Counter()
        self._server: grpc.aio.Server | None = None
        self._last: bytes | None = None

    def open(self, answer: Answer, hear: Hear) -> None:
        """Check the certificate files, then listen; sites are dialled when they are followed or asked."""
        self._tls.check(self.site)
        self._answer, self._hear = answer, hear
        self._hearing = Turns(f"grpc {self.site} hear", POSTS)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"grpc {self.site}", daemon=True)
        self._thread.start()
        atexit.register(self.close)
        try:
            self._do(self._start()).result()
        except (RuntimeError, OSError):
            self.close()
            raise NetworkError(
                f"{self.site} cannot listen at {self._listen}; is the address this machine's, and the port free?"
            ) from None
        self.follow(self._followed)

    def admit(self, sites: Collection[str]) -> None:
        """Let these sites ask and follow; to hear one, its address must be known as well."""
        self._admitted = frozenset(sites) - {self.site}

    def follow(self, sites: Collection[str]) -> None:
        """Hear these sites from now on, and no others."""
        self._followed = frozenset(sites) & self._addresses.keys()
        if self._loop is not None:
            self._do(self._follow_now(self._followed)).result()

    def post(self, message: bytes) -> None:
        """Keep the message and wake the streams of all followers."""
        self._limits.check("post", message)
        self._last = message
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake)

    def ask(self, site: str, request: bytes, *, timeout: float) -> bytes | None:
        """Ask, and wait for a connection if there is none."""
        self._limits.check("request", request)
        loop = self._loop
        if loop is None or site not in self._addresses:
            return None
        asking = asyncio.run_coroutine_threadsafe(self._ask(site, request, timeout), loop)
        try:
            return asking.result(timeout + LEASE)
        except (CancelledError, TimeoutError):
            return None  # closed meanwhile

    def present(self) -> frozenset[str]:
        """The sites that answered, or gave a sign of life, lately."""
        if self._loop is None:
            return frozenset()
        now = time.monotonic()
        return frozenset(site for site, seen in self._seen.copy().items() if now - seen < LEASE)

    def close(self) -> None:
        """Stop the server, the channels, the loop and its thread."""
        atexit.unregister(self.close)
        loop, self._loop = self._loop, None
        if loop is None:
            return
        with contextlib.suppress(TimeoutError):  # what has not ended by then ends with the loop
            asyncio.run_coroutine_threadsafe(self._stop(), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.close()
        self._hearing.close()

    def _do(self, task: Coroutine[Any, Any, T]) -> Future[T]:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(task, self._loop)

    async def _start(self) -> None:
        self._news = asyncio.Event()
        authority, certificate, key = (
            path.read_bytes() for path in (self._tls.authority, self._tls.certificate, self._tls.key)
        )
        self._dialling = grpc.ssl_channel_credentials(authority, key, certificate)
        self._server = grpc.aio.server(options=_options(self._limits.request, server=True))
        methods = {
            "Ask": grpc.unary_unary_rpc_method_handler(self._answer_call),
            "Follow": grpc.unary_stream_rpc_method_handler(self._follow_call),
        }
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
        credentials = grpc.ssl_server_credentials([(key, certificate)], authority, require_client_auth=True)
        self._server.add_secure_port(self._listen, credentials)
        await self._server.start()

    async def _stop(self) -> None:
        following = list(self._following.values())
        self._following.clear()
        await _end(following)
        for channel in self._channels.values():
            await channel.close()
        self._channels.clear()
        if self._server is not None:
            await self._server.stop(None)
            self._server = None
        here = asyncio.current_task()
        await _end(task for task in asyncio.all_tasks() if task is not here)

    async def _answer_call(self, request: bytes, context: Context) -> bytes:
        await self._admit(context)
        reply = self._answer(request)
        if reply is not None:
            return reply.message
        await context.abort(grpc.StatusCode.NOT_FOUND)
        raise AssertionError  # abort does not return

    async def _follow_call(self, request: bytes, context: Context) -> AsyncIterator[bytes]:
        await self._admit(context)
        sent = None
        while True:
            news, last = self._news, self._last
            yield b"" if last is None or last is sent else last
            sent = last
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SIGN_OF_LIFE):
                    await news.wait()

    async def _admit(self, context: Context) -> None:
        """Let in whom the certificate names as one of the sites, a few calls at once."""
        names = context.auth_context().get("x509_common_name", [])
        name = names[0].decode(errors="replace") if names else ""
        if name not in self._admitted:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED)
        if self._open_calls[name] >= IN_FLIGHT:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED)
        self._open_calls[name] += 1
        context.add_done_callback(lambda _: self._open_calls.subtract([name]))

    def _wake(self) -> None:
        """End the wait of all followers. No condition is used: a cancelled follower could leave its lock taken."""
        self._news.set()
        self._news = asyncio.Event()

    async def _ask(self, site: str, request: bytes, timeout: float) -> bytes | None:
        call = self._channel(site).unary_unary(f"/{SERVICE}/Ask")(request, timeout=timeout, wait_for_ready=True)
        reply = await _or_none(call)
        if reply is not None:
            self._seen[site] = time.monotonic()
        return reply

    async def _follow_now(self, sites: frozenset[str]) -> None:
        for site in self._following.keys() - sites:
            self._following.pop(site).cancel()
        for site in sites - self._following.keys():
            self._following[site] = asyncio.create_task(self._listen_to(site))

    async def _listen_to(self, site: str) -> None:
        """Follow a site for ever, dialling it again whenever it was lost or went silent."""
        pause, longest = PAUSES
        while True:
            call = self._channel(site).unary_stream(f"/{SERVICE}/Follow")(b"", wait_for_ready=True)
            try:
                while (message := await _or_none(_within(LEASE, call.read()))) not in (None, grpc.aio.EOF):
                    pause = PAUSES[0]
                    self._seen[site] = time.monotonic()
                    if message and len(message) <= self._limits.post:
                        self._hearing.add(site, partial(self._hear, site, message))
            finally:
                call.cancel()
            self._seen.pop(site, None)
            await asyncio.sleep(pause)
            pause = min(2 * pause, longest)

    def _channel(self, site: str) -> grpc.aio.Channel:
        if site not in self._channels:
            options = _options(max(self._limits.reply, self._limits.post))
            self._channels[site] = grpc.aio.secure_channel(self._addresses[site], self._dialling, options)
        return self._channels[site]


async def _end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks until they have ended: one may miss a cancellation that comes together with what it waited for."""
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=SIGN_OF_LIFE)


async def _within(seconds: float, call: Awaitable[T]) -> T:
    """Wait so long and no longer. (Python 3.11's wait_for may swallow a cancellation.)"""
    async with asyncio.timeout(seconds):
        return await call


async def _or_none(call: Awaitable[T]) -> T | None:
    """What a call gives, or None: refused, lost, too long, too late are all the same to us."""
    try:
        return await call
    except (grpc.aio.AioRpcError, TimeoutError):
        return None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return None


def _options(most: int, *, server: bool = False) -> list[tuple[str, int]]:
    """Bounded messages, quick reconnection, no proxies; a server also bounds the age of a connection."""
    first, longest = PAUSES
    options = [
        ("grpc.max_receive_message_length", most),
        ("grpc.enable_http_proxy", 0),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.so_reuseport", 0),
        ("grpc.initial_reconnect_backoff_ms", int(1000 * first)),
        ("grpc.min_reconnect_backoff_ms", int(1000 * LEASE)),
        ("grpc.max_reconnect_backoff_ms", int(1000 * longest)),
        ("grpc.max_concurrent_streams", IN_FLIGHT),
    ]
    return options + ([("grpc.max_connection_age_ms", int(1000 * CONNECTION_AGE))] if server else [])
