"""Every transport keeps the same few promises, and none of them is that a message arrives."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from surefed.peer.transport.base import Limits, Reply
from tests.peer.transport.world import KINDS, Place, World, connect, eventually

SMALL = Limits(post=100, request=100, reply=100)


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = World(request.param, tmp_path)
    yield made
    made.close()


@pytest.fixture(params=["grpc", "zenoh"])
def sockets(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = World(request.param, tmp_path)
    yield made
    made.close()


def test_a_post_reaches_whoever_follows_and_nobody_else(world: World) -> None:
    ada, bob, cyd = (world.open(site) for site in ("ada", "bob", "cyd"))
    bob.transport.follow(["ada"])
    cyd.transport.follow(["bob"])
    assert eventually(lambda: {"ada"} <= bob.transport.present() and {"bob"} <= cyd.transport.present())
    ada.transport.post(b"hello")
    bob.transport.post(b"good day")
    assert eventually(lambda: ("ada", b"hello") in bob.heard and ("bob", b"good day") in cyd.heard)
    assert {site for site, _ in bob.heard} == {"ada"}
    assert {site for site, _ in cyd.heard} == {"bob"}
    assert not ada.heard


def test_a_late_follower_hears_the_last_post(world: World) -> None:
    ada = world.open("ada")
    ada.transport.post(b"first")
    ada.transport.post(b"last")
    bob = world.open("bob")
    bob.transport.follow(["ada"])
    assert eventually(lambda: ("ada", b"last") in bob.heard)


def test_whoever_follows_before_the_other_is_there_hears_it_too(world: World) -> None:
    bob = world.open("bob")
    bob.transport.follow(["ada"])
    ada = world.open("ada")
    ada.transport.post(b"here I am")
    assert eventually(lambda: ("ada", b"here I am") in bob.heard)


def test_nothing_is_heard_of_a_site_that_is_followed_no_more(world: World) -> None:
    ada, bob, cyd = (world.open(site) for site in ("ada", "bob", "cyd"))
    bob.transport.follow(["ada", "cyd"])
    ada.transport.post(b"one")
    cyd.transport.post(b"one")
    assert eventually(lambda: {("ada", b"one"), ("cyd", b"one")} <= set(bob.heard))
    bob.transport.follow(["cyd"])
    ada.transport.post(b"two")
    cyd.transport.post(b"two")
    assert eventually(lambda: ("cyd", b"two") in bob.heard)
    assert ("ada", b"two") not in bob.heard


def test_followers_that_come_and_go_hold_up_no_post(world: World) -> None:
    ada, bob = world.open("ada"), world.open("bob")
    for number in range(40):
        bob.transport.follow(["ada"] if number % 2 else [])
        time.sleep(0.01)
        ada.transport.post(bytes([number]))
    bob.transport.follow(["ada"])
    assert eventually(lambda: ("ada", bytes([39])) in bob.heard)


def test_an_answer_comes_back_to_each_of_many_askers(world: World) -> None:
    world.open("ada")
    bob, cyd = world.open("bob"), world.open("cyd")
    questions = [f"question {number}".encode() for number in range(20)]
    with ThreadPoolExecutor(4) as pool:
        askers = [bob.transport, cyd.transport] * 10
        answers = pool.map(lambda one, question: one.ask("ada", question, timeout=60), askers, questions)
    assert list(answers) == [question[::-1] for question in questions]


def test_a_reply_of_a_mebibyte_comes_whole(world: World) -> None:
    whole = bytes(range(256)) * 4096
    ada = world.transport("ada")
    world.places.append(Place(ada))
    ada.open(lambda request: Reply("bob", whole), lambda site, post: None)
    assert world.open("bob").transport.ask("ada", b"all of it", timeout=60) == whole


def test_a_question_that_is_not_answered_gives_none(world: World) -> None:
    ada, bob = world.open("ada"), world.open("bob")
    assert bob.transport.ask("ada", b"hello", timeout=60) == b"olleh"
    assert bob.transport.ask("ada", b"silence", timeout=1) is None
    assert b"silence" in ada.asked


def test_a_site_that_is_not_there_gives_none_in_time(world: World) -> None:
    bob = world.open("bob")
    start = time.monotonic()
    assert bob.transport.ask("ada", b"hello", timeout=0.3) is None
    assert bob.transport.ask("nobody", b"hello", timeout=0.3) is None
    assert time.monotonic() - start < 20
    assert bob.transport.present() == frozenset()


def test_what_is_too_long_is_not_sent(world: World) -> None:
    bob = world.open("bob", limits=SMALL)
    with pytest.raises(ValueError, match="a post of 101 bytes; at most 100 are carried"):
        bob.transport.post(bytes(101))
    with pytest.raises(ValueError, match="a request of 101 bytes; at most 100 are carried"):
        bob.transport.ask("ada", bytes(101), timeout=1)


def test_what_is_too_long_is_not_received(world: World) -> None:
    ada, bob = world.open("ada"), world.open("bob", limits=SMALL)
    bob.transport.follow(["ada"])
    assert ada.transport.ask("bob", b"hello", timeout=60) == b"olleh"
    assert ada.transport.ask("bob", bytes(101), timeout=1) is None
    ada.transport.post(bytes(101))
    ada.transport.post(bytes(100))
    assert eventually(lambda: ("ada", bytes(100)) in bob.heard)
    assert all(len(post) <= 100 for _, post in bob.heard)
    assert all(len(request) <= 100 for request in bob.asked)


def test_a_reply_that_is_too_long_is_none(world: World) -> None:
    world.open("ada", limits=Limits(post=100, request=200, reply=200))
    bob = world.open("bob", limits=Limits(post=100, request=200, reply=100))
    assert bob.transport.ask("ada", b"x" * 100, timeout=60) == b"x" * 100
    assert bob.transport.ask("ada", b"x" * 101, timeout=1) is None


def test_a_frozen_a_dead_and_a_returning_site(world: World) -> None:
    bob = world.open("bob")
    bob.transport.follow(["ada"])
    ada = world.start("ada")
    assert eventually(lambda: ("ada", b"post of ada") in bob.heard)
    assert eventually(lambda: "ada" in bob.transport.present())
    ada.freeze()
    start = time.monotonic()
    assert bob.transport.ask("ada", b"hello", timeout=0.5) is None
    bob.transport.post(b"nobody holds me up")
    assert time.monotonic() - start < 20
    assert eventually(lambda: "ada" not in bob.transport.present())
    ada.thaw()
    assert bob.transport.ask("ada", b"hello", timeout=60) == b"olleh"
    ada.kill()
    start = time.monotonic()
    assert bob.transport.ask("ada", b"hello", timeout=0.5) is None
    assert time.monotonic() - start < 20
    assert eventually(lambda: "ada" not in bob.transport.present())
    bob.heard.clear()
    ada.start()
    assert bob.transport.ask("ada", b"hello", timeout=60) == b"olleh"
    assert eventually(lambda: ("ada", b"post of ada") in bob.heard and "ada" in bob.transport.present())


def test_a_site_that_is_admitted_later_is_let_in(sockets: World) -> None:
    """ada knows of nobody but herself at first; bob dials her."""
    world = sockets
    ada = Place(connect(world.kind, "ada", {}, world.authority.issue("ada"), listen=world.addresses["ada"]))
    world.places.append(ada)
    ada.transport.open(ada.answer, ada.hear)
    bob = world.open("bob")
    assert bob.transport.ask("ada", b"hello", timeout=1.5) is None
    ada.transport.admit(["ada", "bob"])
    assert bob.transport.ask("ada", b"hello", timeout=60) == b"olleh"
    ada.transport.admit(["ada", "bob"])  # once more changes nothing
    assert bob.transport.ask("ada", b"hello", timeout=60) == b"olleh"


def test_closing_leaves_no_thread_and_can_be_done_twice(world: World) -> None:
    gc.collect()
    before = set(threading.enumerate())
    ada, bob = world.open("ada"), world.open("bob")
    bob.transport.follow(["ada"])
    assert bob.transport.ask("ada", b"hello", timeout=60) == b"olleh"
    for place in (ada, bob):
        place.transport.close()
        place.transport.close()
    assert bob.transport.ask("ada", b"hello", timeout=0.1) is None
    assert bob.transport.present() == frozenset()

    def ended() -> bool:
        gc.collect()  # gRPC has a thread that ends with the last of its objects
        return set(threading.enumerate()) <= before

    assert eventually(ended)


def test_a_site_can_be_opened_again(world: World) -> None:
    world.open("ada")
    bob = world.open("bob")
    bob.transport.follow(["ada"])
    for _ in range(2):
        assert bob.transport.ask("ada", b"hello", timeout=60) == b"olleh"
        bob.transport.close()
        bob.transport.open(bob.answer, bob.hear)


def test_a_program_ends_although_its_transport_is_open(sockets: World) -> None:
    files = sockets.authority.issue("ada")
    told = {"kind": sockets.kind, "site": "ada", "addresses": sockets.addresses, "leave": True}
    told["files"] = [str(path) for path in (files.authority, files.certificate, files.key)]
    command = [sys.executable, "-m", "tests.peer.transport.echo", json.dumps(told)]
    assert subprocess.run(command, timeout=60, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode == 0


def test_sigterm_ends_a_site(sockets: World) -> None:
    ada = sockets.start("ada")
    assert ada.popen is not None
    ada.popen.terminate()
    assert ada.popen.wait(timeout=60) == 0


def test_a_frozen_asker_holds_up_nobody_else(sockets: World) -> None:
    """Cyd asks for mebibytes on eight threads and freezes; its replies are stuck, bob's are not."""
    ada = Place(sockets.transport("ada"))
    sockets.places.append(ada)
    asked: Counter[str] = Counter()

    def answer(request: bytes) -> Reply:
        asked[request.decode()] += 1
        return Reply(request.decode(), bytes(2**20))

    ada.transport.open(answer, ada.hear)
    bob = sockets.open("bob")
    cyd = sockets.start("cyd", pester="ada")
    assert eventually(lambda: asked["cyd"] > 20)
    cyd.freeze()
    time.sleep(1)
    for _ in range(5):
        assert bob.transport.ask("ada", b"bob", timeout=10) == bytes(2**20)
    ada.transport.post(b"nor are posts")
    bob.transport.follow(["ada"])
    assert eventually(lambda: ("ada", b"nor are posts") in bob.heard)
