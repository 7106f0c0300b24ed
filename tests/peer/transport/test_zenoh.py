"""On zenoh a certified site speaks on its own keys only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import zenoh

from surefed.peer.transport.base import LIMITS
from surefed.peer.transport.configuration import configuration
from tests.peer.transport.world import SITES, World, eventually


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World("zenoh", tmp_path)
    yield made
    made.close()


def test_a_member_can_neither_post_nor_answer_nor_live_for_another(world: World) -> None:
    """Cyd, certified, uses zenoh directly: what it says on its own keys arrives, on ada's keys it does not."""
    bob = world.open("bob")
    bob.transport.follow(["ada", "cyd"])
    tls = world.authority.issue("cyd")
    dial = [world.addresses["bob"]]
    config = configuration("peer", listen=world.addresses["cyd"], dial=dial, tls=tls, sites=SITES, limits=LIMITS)
    config.insert_json5("access_control", '{"enabled": false}')
    with zenoh.open(config) as cyd:
        for site in ("ada", "cyd"):
            cyd.declare_queryable(f"sf/pull/{site}", lambda query: query.reply(query.key_expr, b"cyd's lie"))
        tokens = [cyd.liveliness().declare_token(f"sf/live/{site}") for site in ("ada", "cyd")]
        assert eventually(lambda: bob.transport.present())

        def heard() -> bool:
            for site in ("ada", "cyd"):
                cyd.put(f"sf/post/{site}", b"cyd's post", congestion_control=zenoh.CongestionControl.BLOCK)
            return ("cyd", b"cyd's post") in bob.heard

        assert eventually(heard)
        assert bob.transport.ask("cyd", b"hello", timeout=60) == b"cyd's lie"
        assert bob.transport.present() == {"cyd"}
        assert "ada" not in {site for site, _ in bob.heard}
        ada = world.open("ada")
        assert bob.transport.ask("ada", b"hello", timeout=60) == b"olleh"
        ada.transport.post(b"ada's own")
        assert eventually(lambda: ("ada", b"ada's own") in bob.heard)
        assert {post for site, post in bob.heard if site == "ada"} == {b"ada's own"}
        for token in tokens:
            token.undeclare()
