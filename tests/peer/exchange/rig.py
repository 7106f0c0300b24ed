"""Four sites that exchange beliefs in memory, and liars among them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surefed.peer.charter import Charter
from surefed.peer.exchange import Exchange, Heard
from surefed.peer.transport.base import LIMITS, Limits, Reply
from surefed.peer.transport.memory import MemoryTransport, Network
from surefed.peer.wire import Manifest, manifest_for, parse_request, write_manifest
from tests.peer.made import SITES, made

WEIGHTS = 1000
"""8000 bytes: 8 chunks of 1024, the last of 832."""


def terms(**changes: Any) -> Charter:
    return made().charter.changed(weights=WEIGHTS, **changes)


def belief(seed: int, weights: int = WEIGHTS) -> bytes:
    """A belief's bytes: ordinary numbers."""
    return np.random.default_rng(seed).normal(size=2 * weights).astype("<f4").tobytes()


class Rig:
    """Opens exchanges and closes them all."""

    def __init__(self, folder: Path, charter: Charter | None = None) -> None:
        self.folder, self.charter = folder, charter or terms()
        self.network = Network()
        self.opened: list[Exchange | MemoryTransport] = []

    def open(self, site: str, *, keep: int = 2, charter: Charter | None = None, **options: Any) -> Exchange:
        transport = MemoryTransport(site, self.network)
        identity = made().identities[site]
        folder = self.folder / site
        exchange = Exchange(transport, charter or self.charter, identity, keep=keep, folder=folder, **options)
        exchange.open()
        self.opened.append(exchange)
        return exchange

    def all(self, **options: Any) -> dict[str, Exchange]:
        return {site: self.open(site, **options) for site in SITES}

    def liar(self, site: str, limits: Limits = LIMITS) -> Liar:
        liar = Liar(self, site, limits)
        self.opened.append(liar.transport)
        return liar

    def close(self) -> None:
        for one in self.opened:
            one.close()


class Liar:
    """A member with a program of its own: it signs and posts what it likes and answers as it is told."""

    def __init__(self, rig: Rig, site: str, limits: Limits) -> None:
        self.rig, self.site, self.identity = rig, site, made().identities[site]
        self.transport = MemoryTransport(site, rig.network, limits=limits)
        self.beliefs: dict[int, bytes] = {}
        self.manifests: dict[int, bytes] = {}
        self.chunk: Callable[[int, bytes], bytes | None] = lambda number, piece: piece
        """What becomes of a chunk that it serves."""
        self.transport.open(self.answer, lambda site, post: None)

    def manifest(self, round: int, payload: bytes, **changes: Any) -> Manifest:
        return replace(manifest_for(self.rig.charter, self.identity, round, payload), **changes)

    def announce(self, round: int, payload: bytes, **changes: Any) -> bytes:
        message = write_manifest(self.manifest(round, payload, **changes), self.identity)
        self.beliefs[round], self.manifests[round] = payload, message
        self.transport.post(message)
        return message

    def answer(self, message: bytes) -> Reply | None:
        request = parse_request(message)
        if request.kind != "chunk":
            newest = self.manifests.get(max(self.manifests, default=0), b"")
            return Reply(request.sender, self.manifests.get(request.round, newest))
        step = self.rig.charter.chunk
        piece = self.beliefs[request.round][request.chunk * step : (request.chunk + 1) * step]
        altered = self.chunk(request.chunk, piece)
        return None if altered is None else Reply(request.sender, altered)


def within(seconds: float) -> float:
    """A deadline."""
    return time.monotonic() + seconds


def hear(exchange: Exchange, round: int, *sites: str, seconds: float = 60.0, **options: Any) -> Heard:
    return exchange.gather(round, sites, within(seconds), **options)
