"""Honest sites hear each other, whatever the wire loses; what is not there in time is missing, with a reason."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from surefed.peer.exchange import Exchange, Received
from surefed.peer.exchange.neighbour import Neighbour
from tests.peer.exchange.rig import Rig, belief, hear, within
from tests.peer.made import SITES, copied, made, with_fifth
from tests.peer.transport.world import eventually


def test_everybody_hears_everybodys_belief_of_the_round_bit_for_bit(rig: Rig) -> None:
    sites = rig.all()

    def play(site: str) -> list[dict[str, Received]]:
        rounds = []
        for round in (1, 2, 3):
            sites[site].publish(round, belief(round * 10 + SITES.index(site)))
            heard = hear(sites[site], round, *SITES)
            assert heard.missing == heard.malformed == heard.refused == {}
            rounds.append(heard.beliefs)
        return rounds

    with ThreadPoolExecutor(4) as pool:
        played = dict(zip(SITES, pool.map(play, SITES), strict=True))
    for site, round in itertools.product(SITES, (1, 2, 3)):
        others = {other for other in SITES if other != site}
        right = {other: Received(round, belief(round * 10 + SITES.index(other))) for other in others}
        assert played[site][round - 1] == right


def test_a_belief_that_comes_later_in_the_round_is_waited_for(rig: Rig) -> None:
    north, south = rig.open("north"), rig.open("south")
    threading.Timer(0.2, lambda: south.publish(1, belief(1))).start()
    assert hear(north, 1, "south").beliefs == {"south": Received(1, belief(1))}


def test_a_site_that_is_not_there_is_missing_and_has_little_grace_the_next_time(rig: Rig) -> None:
    north, south = rig.open("north"), rig.open("south")
    south.publish(1, belief(1))
    heard = hear(north, 1, "south", "east", seconds=0.3)
    assert heard.beliefs.keys() == {"south"}
    assert heard.missing == {"east": "is not there"}
    south.publish(2, belief(2))
    start = time.monotonic()
    heard = hear(north, 2, "south", "east", seconds=60, grace=0.1)
    assert time.monotonic() - start < 30
    assert heard.missing == {"east": "is not there"}
    east = rig.open("east")
    threading.Timer(0.5, lambda: east.publish(3, belief(3))).start()
    assert hear(north, 3, "east", grace=0.0).beliefs == {"east": Received(3, belief(3))}


def test_a_silent_site_that_is_there_costs_the_whole_time_only_now_and_then() -> None:
    south = Neighbour("south")
    whole = []
    for _ in range(20):
        whole.append(south.worth_waiting(present=True))
        south.concluded(missing=True, present=True)
    assert [at for at, given in enumerate(whole) if given] == [0, 1, 2, 8, 16]
    south.concluded(missing=False, present=True)
    assert south.worth_waiting(present=True)
    south.concluded(missing=True, present=False)
    assert not south.worth_waiting(present=False)
    assert south.worth_waiting(present=True)


def test_a_site_that_keeps_silent_does_not_make_every_round_last(rig: Rig) -> None:
    north, south, east = rig.open("north"), rig.open("south"), rig.open("east")
    south.publish(1, belief(1))
    for round in (2, 3, 4):
        assert hear(north, round, "south", seconds=0.05).missing == {"south": "is still at round 1"}
    start = time.monotonic()
    east.publish(5, belief(5))
    assert hear(north, 5, "south", "east", seconds=60, grace=0.1).beliefs == {"east": Received(5, belief(5))}
    assert time.monotonic() - start < 30
    south.publish(6, belief(6))
    assert hear(north, 6, "south", grace=5).beliefs == {"south": Received(6, belief(6))}


def test_manifests_are_asked_for_where_no_post_arrives(rig: Rig) -> None:
    posts = {site: exchange for site, exchange in rig.all().items() if site != "north"}
    rig.network.pass_on = lambda source, target, message: (
        None if b'"sha256"' in message and source == "south" else message
    )
    for site, exchange in posts.items():
        exchange.publish(1, belief(SITES.index(site)))
    rig.network.pass_on = lambda source, target, message: message
    north = rig.open("north")
    rig.network.sites["south"]._last = None  # nor is it given to late followers
    assert hear(north, 1, *SITES).beliefs.keys() == set(SITES) - {"north"}


def test_every_third_message_lost_loses_nothing(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefed.peer.exchange.gathering.CHUNK_TIMEOUT", 0.05)
    north, south = rig.open("north"), rig.open("south")
    number = itertools.count()
    rig.network.pass_on = lambda source, target, message: None if next(number) % 3 == 0 else message
    south.publish(1, belief(1))
    assert hear(north, 1, "south").beliefs == {"south": Received(1, belief(1))}


def test_a_sender_that_restarts_in_the_middle_is_pulled_to_the_end(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefed.peer.exchange.gathering.CHUNK_TIMEOUT", 0.5)
    north, south = rig.open("north"), rig.open("south")
    south.publish(1, belief(1))
    replies = itertools.count()

    def crash(source: str, target: str, message: bytes) -> bytes | None:
        if source == "south" and len(message) == 1024 and next(replies) == 3:
            threading.Thread(target=restart).start()
            return None
        return message

    def restart() -> None:
        south.close()
        rig.network.pass_on = lambda source, target, message: message
        rig.open("south").publish(1, belief(1))

    rig.network.pass_on = crash
    assert hear(north, 1, "south").beliefs == {"south": Received(1, belief(1))}
    assert north.equivocators() == frozenset()


def test_a_site_that_is_a_little_ahead_still_gives_the_round(rig: Rig) -> None:
    north, south = rig.open("north"), rig.open("south", keep=2)
    for round in (1, 2, 3):
        south.publish(round, belief(round))
    assert hear(north, 2, "south").beliefs == {"south": Received(2, belief(2))}
    heard = hear(north, 1, "south")
    assert heard.missing == {"south": "is at round 3 and keeps round 1 no more"}
    assert heard.refused == {}
    assert north.rounds_seen() == {"south": 3}


def test_whoever_comes_back_late_blames_nobody(rig: Rig) -> None:
    north, south, east = (rig.open(site) for site in ("north", "south", "east"))
    for exchange in (south, east):
        exchange.publish(60, belief(60))
    heard = hear(north, 3, "south", "east")
    why = "is at round 60 and keeps round 3 no more"
    assert heard.missing == {"south": why, "east": why}
    assert heard.refused == {}


def test_a_site_that_is_behind_is_missing_unless_it_is_near_enough(rig: Rig) -> None:
    north, south = rig.open("north"), rig.open("south")
    south.publish(4, belief(4))
    assert hear(north, 6, "south", seconds=0.3).missing == {"south": "is still at round 4"}
    assert hear(north, 6, "south", seconds=0.3, staleness=1).missing == {"south": "is still at round 4"}
    assert hear(north, 6, "south", seconds=0.3, staleness=2).beliefs == {"south": Received(4, belief(4))}
    assert hear(north, 3, "south", staleness=1, seconds=0.3).beliefs == {"south": Received(4, belief(4))}
    south.publish(5, belief(5))
    assert hear(north, 6, "south", seconds=0.3, staleness=2).beliefs == {"south": Received(5, belief(5))}
    south.publish(6, belief(6))
    assert hear(north, 6, "south", staleness=2).beliefs == {"south": Received(6, belief(6))}


def test_a_belief_is_pulled_once_and_used_again_only_within_the_staleness(rig: Rig) -> None:
    north, south = rig.open("north"), rig.open("south")
    south.publish(1, belief(1))
    assert hear(north, 1, "south", staleness=1).beliefs == {"south": Received(1, belief(1))}
    south.close()
    assert hear(north, 2, "south", staleness=1, seconds=0.2).beliefs == {"south": Received(1, belief(1))}
    assert hear(north, 3, "south", staleness=1, seconds=0.2).missing == {"south": "is not there"}


def test_pieces_of_one_round_serve_the_next_within_the_staleness(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefed.peer.exchange.gathering.IN_FLIGHT", 1)
    north, south = rig.open("north"), rig.liar("south")
    served: list[int] = []

    def four(number: int, piece: bytes) -> bytes | None:
        served.append(number)
        return piece if len(served) <= 4 else None

    south.chunk = four
    south.announce(1, belief(1))
    assert hear(north, 1, "south", seconds=0.3, staleness=1).missing == {"south": "sent 4 of 8 chunks in time"}
    south.chunk = lambda number, piece: piece if number >= 4 else b"not again"
    assert hear(north, 2, "south", seconds=1, staleness=1).beliefs == {"south": Received(1, belief(1))}


def test_how_far_others_are_and_who_has_our_belief(rig: Rig) -> None:
    north, south, east = (rig.open(site) for site in ("north", "south", "east"))
    south.publish(7, belief(7))
    assert north.survey(["south", "east", "west"], 0.3) == {"south": 7}
    assert south.pulled(7) == frozenset()
    assert "south" in hear(north, 7, "south").beliefs
    assert south.pulled(7) == {"north"}
    assert "south" in hear(east, 7, "south").beliefs
    assert south.pulled(7) == {"north", "east"}
    assert south.pulled(6) == frozenset()
    assert north.present() == {"south", "east"}


def test_an_interrupted_gathering_returns_what_it_has(rig: Rig) -> None:
    north, south = rig.open("north"), rig.open("south")
    south.publish(1, belief(1))
    threading.Timer(0.3, north.interrupt).start()
    start = time.monotonic()
    heard = hear(north, 1, "south", "east", seconds=60)
    assert time.monotonic() - start < 30
    assert heard.beliefs.keys() == {"south"}
    assert heard.missing == {"east": "is not there"}


def test_closing_ends_every_thread_even_in_the_middle(rig: Rig) -> None:
    before = set(threading.enumerate())
    north, south = rig.open("north"), rig.open("south")
    south.publish(1, belief(1))
    rig.network.frozen.add("south")
    gathering = threading.Thread(target=lambda: hear(north, 1, "south", "east", seconds=60))
    gathering.start()
    time.sleep(0.1)
    north.close()
    south.close()
    gathering.join(20)
    assert set(threading.enumerate()) <= before


def test_one_round_has_one_belief_of_the_right_size(rig: Rig) -> None:
    north = rig.open("north")
    north.publish(1, belief(1))
    north.publish(1, belief(1))
    with pytest.raises(ValueError, match="round 1 was published with another belief"):
        north.publish(1, belief(2))
    with pytest.raises(ValueError, match="a belief of 8 bytes; the charter's have 8000"):
        north.publish(2, bytes(8))
    with pytest.raises(ValueError, match="keep = 0"):
        rig.open("south", keep=0)


def test_the_site_itself_and_doubles_are_not_waited_for(rig: Rig) -> None:
    north, south = rig.open("north"), rig.open("south")
    south.publish(1, belief(1))
    assert hear(north, 1, "north", "south", "south").beliefs.keys() == {"south"}
    assert hear(north, 1).beliefs == {}


def test_whoever_does_not_hear_us_gets_no_belief(rig: Rig) -> None:
    north = rig.open("north", allowed=lambda asker, round: asker == "south" and round == 1)
    south, east = rig.open("south"), rig.open("east")
    for round in (1, 2):
        north.publish(round, belief(round))
    assert "north" in hear(south, 1, "north").beliefs
    assert hear(south, 2, "north", seconds=0.3).missing == {"north": "announced its belief but does not give it"}
    assert "north" in hear(east, 1, "north", seconds=0.3).missing
    assert north.refused().keys() == {"south", "east"}
    assert north.refused()["east"].keys() == {"not allowed"}


def test_amendments_that_a_neighbour_knows_are_offered(rig: Rig, tmp_path: Path) -> None:
    longer, _ = with_fifth(copied(tmp_path))
    size = made().charter.size
    north, south = rig.open("north", charter=made().charter), rig.open("south", charter=longer)
    south.publish(1, belief(1, size // 8))
    assert north.newer() is None
    assert "south" in hear(north, 1, "south").beliefs
    assert eventually(lambda: north.newer() is not None)
    newer = north.newer()
    assert newer is not None
    assert newer.sites[-1] == "centre"
    north.amend(newer)
    assert north.newer() is None


def test_a_neighbour_with_another_charter_is_refused_and_what_differs_is_told(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "surefed.peer")
    other = rig.charter.changed(rounds=99, signatures={})
    north, south = rig.open("north"), rig.open("south", charter=other)
    south.publish(1, belief(1))
    heard = hear(north, 1, "south", seconds=1)
    assert heard.missing.keys() == {"south"}
    assert heard.refused["south"].keys() == {"charter"}
    assert eventually(lambda: "south has another charter: rounds" in caplog.text)


def test_links_that_come_and_go_change_nothing_in_the_end(rig: Rig) -> None:
    """North and south are cut off from east and west for a round; afterwards all hear all again."""
    sites = rig.all(keep=4)
    half = {"north", "south"}

    def play(site: str, round: int, seconds: float) -> set[str]:
        sites[site].publish(round, belief(round))
        return set(sites[site].gather(round, SITES, within(seconds), grace=seconds).beliefs)

    def all_play(round: int, seconds: float) -> dict[str, set[str]]:
        with ThreadPoolExecutor(4) as pool:
            return dict(zip(SITES, pool.map(lambda site: play(site, round, seconds), SITES), strict=True))

    everybody = {site: set(SITES) - {site} for site in SITES}
    assert all_play(1, 20) == everybody
    rig.network.pass_on = lambda source, target, message: message if (source in half) == (target in half) else None
    assert all_play(2, 1) == {"north": {"south"}, "south": {"north"}, "east": {"west"}, "west": {"east"}}
    rig.network.pass_on = lambda source, target, message: message
    assert all_play(3, 20) == everybody


def test_exchange_of_a_lone_site(rig: Rig) -> None:
    north: Exchange = rig.open("north")
    north.publish(1, belief(1))
    assert hear(north, 1).missing == {}
    assert north.rounds_seen() == {}
