"""Whatever a certified member sends: refused for the right reason, counted, logged once, and the honest are heard."""

from __future__ import annotations

import json
import logging
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefed.peer.exchange import Exchange, Received
from surefed.peer.exchange.neighbour import KNOWN
from surefed.peer.exchange.shelf import TIMES
from surefed.peer.transport.base import Limits
from surefed.peer.wire import (
    chunk_request,
    manifest_for,
    manifest_request,
    parse_request,
    read_manifest,
    write_manifest,
)
from tests.peer.exchange.rig import WEIGHTS, Rig, belief, hear
from tests.peer.made import made, signed
from tests.peer.transport.world import eventually


def counted(exchange: Exchange, site: str, reason: str) -> int:
    return exchange.refused().get(site, {}).get(reason, 0)


def test_an_old_manifest_is_a_replay(rig: Rig) -> None:
    north, south = rig.open("north"), rig.liar("south")
    north.follow(["south"])
    old = south.announce(1, belief(1))
    new = south.announce(2, belief(2))
    assert eventually(lambda: north.rounds_seen() == {"south": 2})
    south.transport.post(old)
    south.transport.post(new)  # the newest once more is no replay: late followers are given it
    assert eventually(lambda: counted(north, "south", "replay") == 1)
    assert hear(north, 2, "south").beliefs == {"south": Received(2, belief(2))}
    assert north.refused() == {"south": {"replay": 1}}


def test_a_round_that_was_long_forgotten_is_a_replay_too(rig: Rig) -> None:
    north, south = rig.open("north"), rig.liar("south")
    north.follow(["south"])
    south.announce(KNOWN + 5, belief(1))
    assert eventually(lambda: north.rounds_seen() == {"south": KNOWN + 5})
    south.announce(5, belief(2))
    assert eventually(lambda: counted(north, "south", "replay") == 1)
    assert north.rounds_seen() == {"south": KNOWN + 5}


def test_a_round_beyond_everybody_elses_is_skipping_and_of_no_use(rig: Rig) -> None:
    north, south, east = rig.open("north"), rig.liar("south"), rig.open("east")
    south.announce(50, belief(1))
    east.publish(3, belief(2))
    heard = hear(north, 3, "south", "east")
    assert heard.beliefs == {"east": Received(3, belief(2))}
    assert heard.missing == {"south": "is at round 50 and keeps round 3 no more"}
    assert heard.refused == {"south": {"skipped": 1}}


def test_a_round_that_the_charter_does_not_have_is_refused(rig: Rig) -> None:
    north, south = rig.open("north"), rig.liar("south")
    south.announce(101, belief(1))
    assert hear(north, 1, "south", seconds=0.3).missing == {"south": "is not there"}
    assert counted(north, "south", "round") >= 1
    assert north.rounds_seen() == {}


def test_nobody_speaks_in_the_name_of_another(rig: Rig) -> None:
    """East posts a manifest that names south: on its own key, and, as a relay could, on south's."""
    north, south, east = rig.open("north"), rig.open("south"), rig.liar("east")
    south.publish(1, belief(1))
    forged = east.announce(1, belief(6), sender="south")
    heard = hear(north, 1, "south", "east", seconds=0.4)
    assert heard.beliefs == {"south": Received(1, belief(1))}
    assert heard.refused["east"].keys() == {"forged"}
    rig.network.pass_on = lambda source, target, message: forged if source == "south" else message
    assert hear(north, 2, "south", seconds=0.7).missing.keys() == {"south"}
    assert counted(north, "south", "forged") >= 1
    assert north.equivocators() == frozenset()


def test_a_manifest_with_one_bit_changed_is_refused(rig: Rig) -> None:
    north, south = rig.open("north"), rig.liar("south")
    message = south.announce(1, belief(1))
    other = json.loads(message[64:]) | {"sha256": "0" * 64}
    body = json.dumps(other, separators=(",", ":"), sort_keys=True).encode()
    assert len(body) == len(message) - 64
    north.follow(["south"])
    south.transport.post(message[:64] + body)
    south.transport.post(bytes([message[0] ^ 1]) + message[1:])
    assert eventually(lambda: counted(north, "south", "forged") == 2)


def test_two_manifests_for_one_round_are_proof_and_end_the_hearing(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "surefed.peer")
    north, south, east = rig.open("north"), rig.liar("south"), rig.open("east")
    north.follow(["south"])
    first = south.announce(1, belief(1))
    assert eventually(lambda: north.rounds_seen() == {"south": 1})
    second = south.announce(1, belief(2))
    assert eventually(lambda: north.equivocators() == {"south"})
    east.publish(1, belief(3))
    heard = hear(north, 1, "south", "east")
    assert heard.malformed == {"south": "equivocated"}
    assert heard.beliefs.keys() == {"east"}
    proof = json.loads((rig.folder / "north" / "evidence" / "south.json").read_text())
    kept = [read_manifest(bytes.fromhex(proof[name]), rig.charter, sender="south") for name in ("first", "second")]
    assert [bytes.fromhex(proof[name]) for name in ("first", "second")] == [first, second]
    assert kept[0].round == kept[1].round == proof["round"] == 1
    assert kept[0].sha256 != kept[1].sha256
    for seed in range(4, 20):
        south.announce(1, belief(seed))
    assert [file.name for file in (rig.folder / "north" / "evidence").iterdir()] == ["south.json"]
    assert caplog.text.count("south signed two beliefs for round 1 and is not heard any more") == 1
    north.close()
    again = rig.open("north")
    assert again.equivocators() == {"south"}
    south.announce(2, belief(2))
    assert hear(again, 2, "south").malformed == {"south": "equivocated"}


def test_two_manifests_that_come_by_asking_are_proof_too(rig: Rig) -> None:
    north, south = rig.open("north"), rig.liar("south")
    south.announce(1, belief(1))
    assert "south" in hear(north, 1, "south").beliefs
    south.manifests[1] = write_manifest(south.manifest(1, belief(2)), south.identity)
    assert north.survey(["south"], 5.0) == {"south": 1}
    assert north.equivocators() == {"south"}


def test_evidence_that_proves_nothing_is_passed_over(rig: Rig, tmp_path: Path) -> None:
    folder = tmp_path / "north" / "evidence"
    folder.mkdir(parents=True)
    one = write_manifest(
        manifest_for(rig.charter, made().identities["south"], 1, belief(1)), made().identities["south"]
    )
    other = write_manifest(
        manifest_for(rig.charter, made().identities["south"], 2, belief(2)), made().identities["south"]
    )
    for name, text in {
        "south": json.dumps({"first": one.hex(), "second": one.hex()}),
        "east": json.dumps({"first": one.hex(), "second": other.hex()}),
        "west": "{",
        "anybody": json.dumps({"first": "00", "second": 3}),
    }.items():
        (folder / f"{name}.json").write_text(text)
    assert rig.open("north").equivocators() == frozenset()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"weights": WEIGHTS + 1}, "shape"),
        ({"dtype": "<f8"}, "shape"),
        ({"size": 10**15}, "shape"),
        ({"chunk": 1}, "shape"),
        ({"certificate": "0" * 64}, "certificate"),
        ({"charter": "0" * 64}, "charter"),
    ],
)
def test_a_manifest_that_announces_something_else_is_refused_before_a_byte_is_asked_for(
    rig: Rig, changes: dict[str, Any], reason: str
) -> None:
    north, south = rig.open("north"), rig.liar("south")
    asked: list[str] = []
    before = south.answer
    south.transport._answer = lambda message: (asked.append(parse_request(message).kind), before(message))[1]
    south.announce(1, belief(1), **changes)
    assert "south" in hear(north, 1, "south", seconds=0.7).missing
    assert counted(north, "south", reason) >= 1
    assert "chunk" not in asked


def test_an_oversize_message_is_refused_unread(rig: Rig) -> None:
    """The transport drops it; where one lets it through, the exchange does not read it."""
    north, south = rig.open("north"), rig.liar("south", limits=Limits(post=10**6, request=10**6))
    north.follow(["south"])
    south.transport.post(b"{" * 5000)
    north._hear("south", b"{" * 5000)
    assert north.refused() == {"south": {"oversize": 1}}


@pytest.mark.parametrize(
    ("number", "reason"),
    [(np.nan, "not finite"), (np.inf, "not finite"), (-np.inf, "not finite"), (1e-39, "subnormal")],
)
def test_a_belief_with_a_bad_number_is_malformed(rig: Rig, number: float, reason: str) -> None:
    north, south, east = rig.open("north"), rig.liar("south"), rig.open("east")
    numbers = np.frombuffer(belief(1), dtype="<f4").copy()
    numbers[777] = number
    south.announce(1, numbers.tobytes())
    east.publish(1, belief(2))
    heard = hear(north, 1, "south", "east")
    assert heard.malformed == {"south": reason}
    assert heard.beliefs.keys() == {"east"}
    assert heard.refused == {"south": {reason: 1}}


def test_bytes_that_are_not_those_signed_are_refused_and_pulled_anew(rig: Rig) -> None:
    north, south = rig.open("north"), rig.liar("south")
    damaged: list[int] = []

    def once(number: int, piece: bytes) -> bytes:
        if number == 3 and not damaged:
            damaged.append(number)
            return bytes([piece[0] ^ 1]) + piece[1:]
        return piece

    south.chunk = once
    south.announce(1, belief(1))
    heard = hear(north, 1, "south")
    assert heard.beliefs == {"south": Received(1, belief(1))}
    assert heard.refused == {"south": {"hash": 1}}


def test_a_sender_that_never_gives_what_it_signed_is_malformed(rig: Rig) -> None:
    north, south = rig.open("north"), rig.liar("south")
    south.chunk = lambda number, piece: bytes(len(piece))
    south.announce(1, belief(1))
    heard = hear(north, 1, "south")
    assert heard.malformed == {"south": "hash"}
    assert heard.refused == {"south": {"hash": 3}}


def test_a_relay_that_alters_bytes_is_noticed(rig: Rig) -> None:
    """Everything between south and north passes somebody who changes one bit of each manifest, or of each chunk."""
    north, south, east = rig.open("north"), rig.open("south"), rig.open("east")
    south.publish(1, belief(1))
    east.publish(1, belief(2))

    def bend(source: str, target: str, message: bytes) -> bytes:
        wanted = source == "south" and (len(message) == rig.charter.chunk) == chunks
        return message[:100] + bytes([message[100] ^ 1]) + message[101:] if wanted else message

    chunks, rig.network.pass_on = True, bend
    heard = hear(north, 1, "south", "east")
    assert heard.malformed == {"south": "hash"}
    assert heard.beliefs == {"east": Received(1, belief(2))}
    chunks = False
    south.publish(2, belief(3))
    east.publish(2, belief(4))
    heard = hear(north, 2, "south", "east", seconds=0.7)
    assert heard.missing.keys() == {"south"}
    assert heard.beliefs == {"east": Received(2, belief(4))}
    assert heard.refused["south"].keys() <= {"forged", "malformed", "size", "charter"}


def test_a_chunk_of_the_wrong_length_is_refused(rig: Rig) -> None:
    north, south = rig.open("north"), rig.liar("south")
    south.chunk = lambda number, piece: piece + b"and more"
    south.announce(1, belief(1))
    heard = hear(north, 1, "south", seconds=0.5)
    assert heard.missing == {"south": "announced its belief but does not give it"}
    assert heard.refused["south"].keys() == {"size"}


def test_a_neighbour_that_dribbles_cannot_hold_a_round_beyond_its_deadline(rig: Rig) -> None:
    north, south, east = rig.open("north"), rig.liar("south"), rig.open("east")

    def dribble(number: int, piece: bytes) -> bytes:
        time.sleep(0.2)
        return piece

    south.chunk = dribble
    south.announce(1, belief(1))
    east.publish(1, belief(2))
    start = time.monotonic()
    heard = hear(north, 1, "south", "east", seconds=0.7)
    assert time.monotonic() - start < 10
    assert heard.beliefs.keys() == {"east"}
    assert heard.missing["south"].endswith("of 8 chunks in time")
    assert heard.refused == {"south": {"slow": 1}}


def test_ten_thousand_bad_messages_are_counted_and_the_honest_exchange_goes_on(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "surefed.peer")
    north, south, east = rig.open("north"), rig.liar("south"), rig.open("east")
    good = write_manifest(south.manifest(1, belief(1)), south.identity)
    kinds = [b"", b"nonsense", bytes(1000), good[:-1], bytes(64) + good[64:], good[:64] + b'{"a":' * 100]
    rounds = [write_manifest(south.manifest(1000 + at, belief(1)), south.identity) for at in range(10)]
    north.follow(["south", "east"])

    def flood() -> None:
        for number in range(10_000):
            north._hear("south", (kinds + rounds)[number % 16])

    flooding = threading.Thread(target=flood)
    flooding.start()
    for round in (1, 2, 3):
        east.publish(round, belief(round))
        assert hear(north, round, "east").beliefs == {"east": Received(round, belief(round))}
    flooding.join()
    counts = north.refused()["south"]
    assert sum(counts.values()) == 10_000
    assert counts.keys() == {"malformed", "forged", "round", "flood"}
    assert counts["flood"] > 9_000
    lines = [json.loads(line) for line in (rig.folder / "north" / "refusals.jsonl").read_text().splitlines()]
    assert sorted(line["reason"] for line in lines) == sorted(counts)
    assert caplog.text.count("refused what came in the name of south") == len(counts)
    south.announce(4, belief(4))
    assert hear(north, 4, "south").beliefs == {"south": Received(4, belief(4))}  # asked for, where posts are not read


def test_ten_thousand_bad_questions_are_counted_and_honest_ones_answered(rig: Rig) -> None:
    north, south, east = rig.open("north"), rig.liar("south"), rig.open("east")
    north.publish(1, belief(1))
    real = manifest_request(rig.charter, south.identity, "north")
    false = [b"", b"nonsense", bytes(900), bytes(64) + real[64:], manifest_request(rig.charter, south.identity, "east")]

    def flood() -> None:
        for number in range(10_000):
            north._answer(false[number % 5])

    flooding = threading.Thread(target=flood)
    flooding.start()
    assert hear(east, 1, "north").beliefs == {"north": Received(1, belief(1))}
    flooding.join()
    counts = north.refused()
    assert counts == {"?": {"malformed": 6000}, "south": {"forged": 2000, "not allowed": 2000}}
    assert len((rig.folder / "north" / "refusals.jsonl").read_text().splitlines()) == 3
    again = Exchange(
        rig.network.sites["north"], rig.charter, made().identities["north"], keep=1, folder=rig.folder / "north"
    )
    again._answer(b"nonsense")
    assert len((rig.folder / "north" / "refusals.jsonl").read_text().splitlines()) == 3  # restarts add no lines


def test_nobody_pulls_without_end(rig: Rig) -> None:
    north, south = rig.open("north"), rig.liar("south")
    north.publish(1, belief(1))
    manifest = manifest_for(rig.charter, made().identities["north"], 1, belief(1))
    requests = [chunk_request(rig.charter, south.identity, manifest, chunk) for chunk in range(8)]
    given = sum(len(reply.message) for _ in range(20) for one in requests if (reply := north._answer(one)) is not None)
    assert TIMES * rig.charter.size - rig.charter.chunk < given <= TIMES * rig.charter.size
    assert counted(north, "south", "flood") > 0
    assert north._answer(chunk_request(rig.charter, south.identity, replace(manifest, round=2), 0)).message == b""
    asked = [north._answer(manifest_request(rig.charter, south.identity, "north")) for _ in range(1000)]
    assert any(asked)
    assert None in asked


def test_a_belief_is_given_for_its_own_hash_only(rig: Rig) -> None:
    north, south = rig.open("north"), rig.liar("south")
    north.publish(1, belief(1))
    other = manifest_for(rig.charter, made().identities["north"], 1, belief(2))
    reply = north._answer(chunk_request(rig.charter, south.identity, other, 0))
    assert reply is not None
    assert reply.message == b""


def test_a_revoked_site_is_neither_heard_nor_answered(rig: Rig) -> None:
    from surefed.peer.charter import propose

    charter = signed(propose(made().charter, "revoke", "south"), "north", "east", "west")
    rig.charter = made().charter
    north, south = rig.open("north", charter=charter), rig.liar("south")
    payload = belief(1, rig.charter.weights)
    north.publish(1, payload)
    south.announce(1, payload)
    assert hear(north, 1, "south", seconds=0.7).missing.keys() == {"south"}
    assert counted(north, "south", "revoked") >= 1
    before = counted(north, "south", "revoked")
    assert north._answer(manifest_request(rig.charter, south.identity, "north")) is None
    assert counted(north, "south", "revoked") == before + 1


def test_what_a_neighbour_can_make_us_hold_is_bounded(rig: Rig) -> None:
    """A thousand rounds announced: a few manifests are remembered, one belief at most."""
    north, south = rig.open("north", charter=rig.charter.changed(rounds=10_000)), rig.liar("south")
    rig.charter = rig.charter.changed(rounds=10_000)
    north.follow(["south"])
    for round in range(1, 1001):
        north._hear("south", write_manifest(south.manifest(round, belief(1)), south.identity))
    assert north.rounds_seen() == {"south": 1000}
    neighbour = north.neighbour("south")
    assert len(neighbour._known) == KNOWN
    south.announce(1001, belief(1001))
    hear(north, 1001, "south")
    assert neighbour.belief is None  # given to the caller, and with no staleness kept no longer
    assert neighbour.pull is None or neighbour.pull.arrived == 0


def test_a_full_disk_stops_neither_counting_nor_excluding(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "north").write_text("a file where a folder should be")
    north, south = rig.open("north"), rig.liar("south")
    north.follow(["south"])
    south.transport.post(b"nonsense")
    south.announce(1, belief(1))
    assert eventually(lambda: north.rounds_seen() == {"south": 1})
    south.announce(1, belief(2))
    assert eventually(lambda: north.equivocators() == {"south"})
    assert counted(north, "south", "malformed") == 1
