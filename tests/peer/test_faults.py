"""Whatever happens to one site, the others' rounds end by the deadline, nothing is lost, and it is all written down."""

from __future__ import annotations

import errno
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from surefed.peer import Peer, Stopped
from surefed.peer.node import Round
from surefed.peer.transport import MemoryTransport, Network
from surefed.records import read
from surefed.sim import checkpoint
from surefed.sim.engine import social
from tests.peer.federations import Trial, peer, peers, run_all, trial

RULE = {"rule": {"name": "bayp2pfl"}}


def lines(made: Trial, site: str) -> list[dict[str, Any]]:
    return read(made.folder / site / "record").rounds


def events(made: Trial, site: str) -> list[dict[str, Any]]:
    text = (made.folder / site / "record" / "events.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def verdicts(made: Trial, site: str, of: str) -> list[str]:
    return [line["neighbours"][of]["verdict"] for line in lines(made, site)]


def after(number: int, then: Callable[[], None]) -> Callable[[Round], None]:
    """A watcher that does something after a round."""
    return lambda done: then() if done.round == number else None


def ends_as_simulated(made: Trial, everybody: dict[str, Peer]) -> None:
    predicted = social(*made.simulated())
    for at, one in enumerate(everybody.values()):
        assert (one.belief.mean - predicted.mean[at]).abs().max() == 0


def test_a_site_that_is_stopped_and_started_again_changes_nothing(tmp_path: Path) -> None:
    made, network = trial(tmp_path, rounds=6, **RULE), Network()
    everybody = peers(made, network)
    first = peer(made, network, "bert", save_every=2)
    first._watch = after(3, first.stop)

    def twice() -> None:
        with pytest.raises(Stopped):
            first.run()
        everybody["bert"] = peer(made, network, "bert", save_every=2)
        everybody["bert"].run()

    runners = [threading.Thread(target=twice)]
    runners += [threading.Thread(target=everybody[site].run) for site in ("anna", "cleo")]
    for one in runners:
        one.start()
    for one in runners:
        one.join()
    ends_as_simulated(made, everybody)
    assert [line["round"] for line in lines(made, "bert")] == [1, 2, 3, 4, 5, 6]
    assert [one["kind"] for one in events(made, "bert")] == ["started", "stopped", "resumed", "finished"]


def test_a_frozen_site_is_missing_until_it_comes_back(tmp_path: Path) -> None:
    made, network = trial(tmp_path, rounds=12, deadline=0.5, **RULE), Network()
    everybody = peers(made, network)
    everybody["anna"]._watch = lambda done: (
        network.frozen.add("cleo") if done.round == 2 else network.frozen.discard("cleo") if done.round == 5 else None
    )
    run_all(everybody)
    seen = verdicts(made, "anna", of="cleo")
    assert seen[:2] == ["trusted", "trusted"]
    assert "missing" in seen
    assert seen[-1] == "trusted"
    assert set(verdicts(made, "anna", of="bert")) == {"trusted"}
    assert all(len(lines(made, site)) == 12 for site in made.sites)


def test_one_that_fell_behind_catches_up_although_a_silent_member_makes_every_round_last(tmp_path: Path) -> None:
    """dora is there and says nothing, so every round takes the deadline; bert loses four rounds."""
    made, network = trial(tmp_path, sites=4, rounds=30, deadline=0.6, **RULE), Network()
    everybody = {site: one for site, one in peers(made, network).items() if site != "dora"}
    silent = MemoryTransport("dora", network)
    silent.open(lambda request: None, lambda site, post: None)
    everybody["bert"]._watch = after(3, lambda: time.sleep(2.5))
    run_all(everybody)
    silent.close()
    seen = verdicts(made, "anna", of="bert")
    assert "missing" in seen[3:8]
    assert seen[-6:].count("trusted") >= 3  # it was never heard again when it did not hurry
    assert sum(line["jumped"] for line in lines(made, "bert")) == 0


def test_a_partition_that_heals(tmp_path: Path) -> None:
    made = trial(tmp_path, sites=4, rounds=14, deadline=0.4, **RULE)
    cut = threading.Event()
    groups = ({"anna", "bert"}, {"cleo", "dora"})

    def wire(source: str, target: str, message: bytes) -> bytes | None:
        apart = cut.is_set() and not any({source, target} <= group for group in groups)
        return None if apart else message

    everybody = peers(made, Network(wire))
    everybody["anna"]._watch = lambda done: cut.set() if done.round == 2 else cut.clear() if done.round == 6 else None
    run_all(everybody)
    for site, other in (("anna", "cleo"), ("dora", "bert")):
        seen = verdicts(made, site, of=other)
        assert seen[0] == "trusted"
        assert "missing" in seen
        assert seen[-1] == "trusted"
    assert set(verdicts(made, "anna", of="bert")) == {"trusted"}


def test_clocks_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = trial(tmp_path, rounds=4, **RULE)
    right, rng = time.time, random.Random(0)
    monkeypatch.setattr(time, "time", lambda: right() + rng.choice([-3600.0, 0.0, 3600.0]))
    everybody = peers(made, Network())
    run_all(everybody)
    ends_as_simulated(made, everybody)


def test_a_certificate_that_expires_is_told_once_and_stops_nobody(tmp_path: Path) -> None:
    made = trial(tmp_path, rounds=3, **RULE)
    everybody = peers(made, Network())
    anna = everybody["anna"]
    facts = replace(anna.identity.facts, expires=datetime.now(UTC) - timedelta(seconds=1))
    anna.identity = replace(anna.identity, facts=facts)
    run_all(everybody)
    told = [one["text"] for one in events(made, "anna") if one["kind"] == "certificate"]
    assert len(told) == 1
    assert "has expired" in told[0]
    assert len(lines(made, "bert")) == 3


def test_corrupted_chunks_are_pulled_again(tmp_path: Path) -> None:
    made, rng = trial(tmp_path, rounds=6, **RULE), random.Random(0)
    spoilt: set[tuple[str, str, bytes]] = set()

    def wire(source: str, target: str, message: bytes) -> bytes | None:
        this = (source, target, message)
        if len(message) != made.charter.size or this in spoilt:  # a whole belief is one chunk; it is spoilt once
            return message
        spoilt.add(this)
        at = rng.randrange(len(message))
        return message[:at] + bytes([message[at] ^ 1 << rng.randrange(8)]) + message[at + 1 :]

    everybody = peers(made, Network(wire))
    run_all(everybody)
    assert len(spoilt) >= 6 * 3 * 2
    ends_as_simulated(made, everybody)
    counts = [
        json.loads((made.folder / site / "record" / "peer.json").read_text())["neighbours"] for site in made.sites
    ]
    assert sum(one["refused"].get("hash", 0) for each in counts for one in each.values()) > 0


def test_a_full_disk_pauses_learning_not_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = trial(tmp_path, rounds=4, **RULE)
    everybody, right, full = peers(made, Network()), checkpoint.save_file, []
    monkeypatch.setattr("surefed.peer.disk.WAIT", 0.05)

    def save(tensors: Any, path: Path, **options: Any) -> None:
        if "bert" in str(path) and len(full) < 5:
            full.append(json.loads((made.folder / "bert" / "record" / "peer.json").read_text())["doing"])
            raise OSError(errno.ENOSPC, "No space left on device")
        right(tensors, path, **options)

    monkeypatch.setattr(checkpoint, "save_file", save)
    run_all(everybody)
    assert full[1:] == ["paused"] * 4
    ends_as_simulated(made, everybody)
    told = [one["text"] for one in events(made, "bert") if one["kind"] == "disk"]
    assert len(told) == 2
    assert "No space left" in told[0]
    assert "goes on" in told[1]


def test_too_little_room_pauses_before_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = trial(tmp_path, rounds=2, **RULE)
    everybody = peers(made, Network(), least_disk=100)
    monkeypatch.setattr("surefed.peer.disk.WAIT", 0.02)
    left = iter([10, 20, *[200] * 1000])
    monkeypatch.setattr("surefed.peer.disk.Disk.free", property(lambda disk: next(left) << 20))
    run_all({"anna": everybody["anna"]} | everybody)
    told = [one["text"] for site in made.sites for one in events(made, site) if one["kind"] == "disk"]
    assert any("100 are needed" in text for text in told)
    ends_as_simulated(made, everybody)


def test_ten_thousand_bad_messages_from_a_member_stop_nobody(tmp_path: Path) -> None:
    made, network, rng = trial(tmp_path, rounds=8, deadline=0.4, **RULE), Network(), random.Random(0)
    honest = {site: one for site, one in peers(made, network).items() if site != "cleo"}
    rogue, done = MemoryTransport("cleo", network), threading.Event()
    sent = 0

    def flood() -> None:
        nonlocal sent
        while sent < 10_000:
            rogue.post(rng.randbytes(rng.randrange(1, 1000)))
            sent += 1
        done.set()

    rogue.open(lambda request: None, lambda site, post: None)
    flooding = threading.Thread(target=flood)
    flooding.start()
    run_all(honest)
    done.wait()
    flooding.join()
    rogue.close()
    assert all(len(lines(made, site)) == 8 for site in honest)
    assert set(verdicts(made, "anna", of="bert")) == {"trusted"}
    assert set(verdicts(made, "anna", of="cleo")) == {"missing"}
    refused = json.loads((made.folder / "anna" / "record" / "peer.json").read_text())["neighbours"]["cleo"]["refused"]
    assert sum(refused.values()) > 0
    assert len([one for one in events(made, "anna") if one["kind"] == "refused"]) == len(refused)


def test_a_site_that_is_killed_after_saving_still_serves_what_it_had_sent(tmp_path: Path) -> None:
    made, network = trial(tmp_path, sites=2, rounds=3, **RULE), Network()
    slow, quick = (peer(made, network, site) for site in made.sites)
    hear, gone = threading.Event(), threading.Event()
    gather = slow.exchange.gather

    def late(number: int, *rest: Any, **options: Any) -> Any:
        if number == 2:
            hear.wait()  # until the other is dead and back
        return gather(number, *rest, **options)

    def die(done: Round) -> None:
        if done.round == 2:
            raise KeyError("killed")  # the state of round 2 is saved

    slow.exchange.gather = late  # type: ignore[method-assign]
    quick._watch = die

    def twice() -> None:
        with pytest.raises(KeyError):
            quick.run()
        gone.set()
        again = peer(made, network, "bert")
        again._watch = lambda done: None
        hear.set()
        again.run()

    runners = [threading.Thread(target=slow.run), threading.Thread(target=twice)]
    for one in runners:
        one.start()
    for one in runners:
        one.join()
    assert gone.is_set()
    assert verdicts(made, "anna", of="bert") == ["trusted"] * 3
