"""A transport carries posts and answers between sites, and promises nothing: only an answer counts.

Whatever arrives is bytes from strangers. TLS admits to the network; who said it is told by the signature inside.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Reply(NamedTuple):
    """An answer, and who asked: each asker has a lane of its own, so that a slow one holds up only itself."""

    asker: str
    message: bytes


Answer = Callable[[bytes], Reply | None]
"""Request in, reply out; None leaves the asker without an answer."""
Hear = Callable[[str, bytes], None]
"""A post arrived on this site's key. The key is a claim, not a proof."""


@dataclass(frozen=True)
class Limits:
    """The most bytes that a post, a request or a reply may have; longer ones never reach the callbacks."""

    post: int = 1024
    request: int = 1024
    reply: int = 4 * 1024 * 1024

    def check(self, kind: str, message: bytes) -> None:
        """Refuse to send what nobody would accept."""
        most = getattr(self, kind)
        if len(message) > most:
            raise ValueError(f"a {kind} of {len(message)} bytes; at most {most} are carried")


LIMITS = Limits()


class Transport(Protocol):
    """Carries posts and answers between sites; both callbacks run on the transport's threads and must be quick."""

    def open(self, answer: Answer, hear: Hear) -> None:
        """Start; from now on requests are answered and posts of the sites followed are heard."""

    def admit(self, sites: Collection[str]) -> None:
        """Let these sites in from now on, and no others; where members change, links may be made anew."""

    def follow(self, sites: Collection[str]) -> None:
        """Want the posts of these sites from now on, and of no others; the last one of each comes soon."""

    def post(self, message: bytes) -> None:
        """Give a message to whoever follows us, now or later; only the last one is kept."""

    def ask(self, site: str, request: bytes, *, timeout: float) -> bytes | None:
        """The site's reply, or None if none came within `timeout` seconds. May be called from several threads."""

    def present(self) -> frozenset[str]:
        """The sites that seem to be there: a hint, never a proof."""

    def close(self) -> None:
        """Stop; leaves no thread behind. Closing twice is fine."""
