"""The exchange over real sockets and TLS, with a certified member that floods everybody."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from surefed.peer.exchange import Exchange, Received
from tests.peer.exchange.rig import belief, hear
from tests.peer.exchange.sockets import addresses, credentials, large, over
from tests.peer.transport.world import connect

CHARTER = large(150_000)  # 1.2 MB: two chunks
HONEST = ("north", "south", "east")


@pytest.fixture(params=["grpc", "zenoh"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def at() -> dict[str, str]:
    return addresses()


@pytest.fixture
def sites(kind: str, at: dict[str, str], tmp_path: Path) -> Iterator[dict[str, Exchange]]:
    opened = {site: over(kind, site, at, CHARTER, tmp_path) for site in HONEST}
    yield opened
    for exchange in opened.values():
        exchange.close()


def play(sites: dict[str, Exchange], rounds: int) -> None:
    """Everybody hears everybody, bit for bit."""

    def one(site: str) -> None:
        for round in range(1, rounds + 1):
            sites[site].publish(round, belief(round + 100 * len(site), CHARTER.weights))
            heard = hear(sites[site], round, *HONEST, seconds=60)
            for other in set(HONEST) - {site}:
                assert heard.beliefs[other] == Received(round, belief(round + 100 * len(other), CHARTER.weights))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(one, HONEST))


def test_three_sites_hear_each_other(sites: dict[str, Exchange]) -> None:
    play(sites, 3)
    assert all(exchange.refused() == {} for exchange in sites.values())
    assert all(exchange.pulled(3) == set(HONEST) - {site} for site, exchange in sites.items())


def test_a_certified_member_that_floods_stops_nobody(kind: str, at: dict[str, str], sites: dict[str, Exchange]) -> None:
    """West posts ten thousand bad messages and asks hundreds of bad questions while the others play rounds."""
    west = connect(kind, "west", at, credentials("west"))
    west.open(lambda request: None, lambda site, post: None)
    for exchange in sites.values():
        exchange.follow([*HONEST, "west"])
    over_now = threading.Event()

    def post() -> None:
        for number in range(10_000):
            west.post(number.to_bytes(4, "big") * (1 + number % 250))

    def ask() -> None:
        number = 0
        while not over_now.is_set() and number < 2000:
            number += 1
            west.ask(HONEST[number % 3], number.to_bytes(4, "big") * 100, timeout=0.1)

    flooding = [threading.Thread(target=task) for task in (post, ask, ask)]
    for thread in flooding:
        thread.start()
    play(sites, 3)
    over_now.set()
    for thread in flooding:
        thread.join()
    for exchange in sites.values():
        counts = exchange.refused()
        assert counts["west"].keys() <= {"malformed", "flood"}
        assert counts["?"].keys() == {"malformed"}
        assert counts.keys() == {"west", "?"}
    west.close()
