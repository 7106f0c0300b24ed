"""Exchanges over sockets: real TLS with the certificates of `made`, beliefs of any size."""

from __future__ import annotations

from pathlib import Path

from surefed.peer.charter import Charter
from surefed.peer.exchange import Exchange
from surefed.peer.transport.base import Transport
from surefed.peer.transport.tls import Credentials
from tests.peer.made import SITES, made
from tests.peer.transport.world import connect, free_port


def credentials(site: str) -> Credentials:
    places = made().identities[site].places
    return Credentials(places.authority, places.certificate, places.tls)


def addresses() -> dict[str, str]:
    return {site: f"127.0.0.1:{free_port()}" for site in SITES}


def large(weights: int) -> Charter:
    """The charter with a model of so many weights, and chunks of a mebibyte."""
    return made().charter.changed(weights=weights, chunk=2**20)


def over(kind: str, site: str, at: dict[str, str], charter: Charter, folder: Path) -> Exchange:
    """An open exchange over sockets."""
    return over_transport(connect(kind, site, at, credentials(site)), site, charter, folder)


def over_transport(transport: Transport, site: str, charter: Charter, folder: Path) -> Exchange:
    exchange = Exchange(transport, charter, made().identities[site], keep=2, folder=folder / site)
    exchange.open()
    return exchange
