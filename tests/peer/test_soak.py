"""Federations under random faults, of real processes and on a hostile wire: nothing is lost, nobody honest stops, and
rounds keep ending.

`make soak` runs them. SUREFED_SOAK_SECONDS (default 120) is how long faults are made, SUREFED_SOAK_SEED (default 0)
which ones; a summary of counts is printed. Processes also leave it, and a log, in the folder that it names.
"""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from surefed.peer import Peer, Stopped
from surefed.peer.attempt import Attempt, prepare, start
from surefed.peer.settings import Kind
from surefed.peer.transport import MemoryTransport, Network
from surefed.records import read
from surefed.sim import checkpoint
from tests.peer.federations import Trial, peer, trial

SECONDS = float(os.environ.get("SUREFED_SOAK_SECONDS", "120"))
SEED = int(os.environ.get("SUREFED_SOAK_SEED", "0"))
DEADLINE = 3.0


class Faults:
    """Makes one fault after another, and counts them."""

    def __init__(self, attempt: Attempt, seed: int) -> None:
        self.attempt, self.rng, self.counts = attempt, random.Random(seed), Counter[str]()
        self.running = {site: start(attempt, site) for site in attempt.charter.sites}
        self.log = (attempt.folder / "faults.log").open("w")
        self.began = time.monotonic()

    def note(self, text: str) -> None:
        self.log.write(f"{time.monotonic() - self.began:8.2f} {text}\n")
        self.log.flush()

    def kill(self, site: str) -> None:
        """kill -9 at a random instant, and start again after a while."""
        self.running[site].kill()
        self.running[site].wait()
        self.note(f"killed {site}")
        time.sleep(self.rng.uniform(0, 2))
        self.running[site] = start(self.attempt, site)
        self.counts["kill -9"] += 1

    def freeze(self, site: str) -> None:
        """SIGSTOP for a while."""
        seconds = self.rng.uniform(0.5, 3 * DEADLINE)
        self.running[site].send_signal(signal.SIGSTOP)
        self.note(f"froze {site} for {seconds:.1f} s")
        time.sleep(seconds)
        self.running[site].send_signal(signal.SIGCONT)
        self.counts["SIGSTOP"] += 1

    def stop(self, site: str) -> None:
        """An orderly stop and a start."""
        self.running[site].terminate()
        self.running[site].wait(60)
        self.note(f"stopped {site}")
        self.running[site] = start(self.attempt, site)
        self.counts["SIGTERM"] += 1

    def end(self) -> None:
        for one in self.running.values():
            if one.poll() is None:
                one.send_signal(signal.SIGCONT)
                one.terminate()
        for one in self.running.values():
            try:
                one.wait(60)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()
        self.log.close()


def status(attempt: Attempt, site: str) -> dict[str, Any]:
    return attempt.status(site) or {"round": 0}


def wait_until(attempt: Attempt, number: int, seconds: float) -> None:
    """Until everybody is at a round."""
    until = time.monotonic() + seconds
    while min(status(attempt, site)["round"] for site in attempt.charter.sites) < number:
        assert time.monotonic() < until, {site: status(attempt, site)["round"] for site in attempt.charter.sites}
        time.sleep(0.2)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["zenoh", "grpc"])
def test_random_faults_for_a_long_time(tmp_path: Path, kind: Kind) -> None:
    attempt = prepare(
        tmp_path,
        sites=5,
        malicious=1,
        rounds=10**6,
        transport=kind,
        attack="sign_flip",
        seed=SEED,
        terms={"deadline": DEADLINE, "staleness": 1},
    )
    faults = Faults(attempt, SEED)
    try:
        wait_until(attempt, 3, 180)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            fault = faults.rng.choice([faults.kill, faults.freeze, faults.stop])
            fault(faults.rng.choice(attempt.charter.sites))
            time.sleep(faults.rng.uniform(0, 3))
        reached = max(status(attempt, site)["round"] for site in attempt.charter.sites)
        faults.note(f"no more faults; the furthest is at round {reached}")
        wait_until(attempt, reached + 10, 180)
    finally:
        faults.end()
    summary(attempt, faults, kind)
    for site in attempt.charter.sites:
        check_site(attempt, site)


def check_site(attempt: Attempt, site: str) -> None:
    """Every round is there once, none was torn, and the last ones heard everybody."""
    record = read(attempt.record(site))
    numbers = [line["round"] for line in record.rounds]
    assert numbers == sorted(set(numbers))
    skipped = sum(line["jumped"] for line in record.rounds)
    assert numbers[-1] == len(numbers) + skipped
    last = [one["verdict"] for one in record.rounds[-2]["neighbours"].values()]
    assert "missing" not in last
    assert "equivocated" not in {one["verdict"] for line in record.rounds for one in line["neighbours"].values()}
    waits = [line["wait"] for line in record.timing]
    frozen = 3 * DEADLINE  # while this very process was stopped, its clock went on
    assert max(waits) < DEADLINE + frozen + 5


def summary(attempt: Attempt, faults: Faults, kind: str) -> None:
    rounds = Counter[str]()
    for site in attempt.charter.sites:
        for line in read(attempt.record(site)).rounds:
            rounds["rounds"] += 1
            rounds.update(one["verdict"] for one in line["neighbours"].values())
    counted = {
        "transport": kind,
        "seed": SEED,
        "seconds": SECONDS,
        "faults": dict(faults.counts),
        "rounds reached": {site: status(attempt, site)["round"] for site in attempt.charter.sites},
        "rounds jumped": {site: status(attempt, site).get("jumped") for site in attempt.charter.sites},
        "verdicts": dict(rounds),
        "folder": str(attempt.folder),
    }
    (attempt.folder / "summary.json").write_text(json.dumps(counted, indent=2))
    print(json.dumps(counted, indent=2))


class Wire:
    """A wire that cuts, loses and spoils what it is told to, and counts it."""

    def __init__(self, seed: int) -> None:
        self.rng, self.counts = random.Random(seed), Counter[str]()
        self.camp: frozenset[str] = frozenset()
        self.lost = self.spoilt = 0.0

    def __call__(self, source: str, target: str, message: bytes) -> bytes | None:
        if self.camp and (source in self.camp) != (target in self.camp):
            self.counts["messages cut off"] += 1
            return None
        if self.rng.random() < self.lost:
            self.counts["messages lost"] += 1
            return None
        if message and self.rng.random() < self.spoilt:
            self.counts["messages spoilt"] += 1
            at = self.rng.randrange(len(message))
            return message[:at] + bytes([message[at] ^ 1 << self.rng.randrange(8)]) + message[at + 1 :]
        return message


class Hostile:
    """Seven honest sites on a bad wire, with full disks and clocks that jump, beside a member that sends rubbish."""

    def __init__(self, made: Trial, patch: pytest.MonkeyPatch) -> None:
        self.made, self.wire, self.rng = made, Wire(SEED), random.Random(SEED)
        self.network = Network(self.wire)
        self.honest = [site for site in made.sites if site != "hans"]
        self.full, self.over = "", threading.Event()
        self.rogue = MemoryTransport("hans", self.network)
        self.rogue.open(lambda request: None, lambda site, post: None)
        self.peers: dict[str, Peer] = {}
        self.threads = {site: threading.Thread(target=self._live, args=(site,)) for site in self.honest}
        save, right = checkpoint.save_file, time.time
        self.skew = 0.0
        patch.setattr("surefed.peer.disk.WAIT", 0.1)
        patch.setattr(time, "time", lambda: right() + self.skew)

        def saved(tensors: Any, path: Path, **options: Any) -> None:
            if self.full and f"/{self.full}/" in str(path):
                self.wire.counts["writes to a full disk"] += 1
                raise OSError(errno.ENOSPC, "No space left on device")
            save(tensors, path, **options)

        patch.setattr(checkpoint, "save_file", saved)

    def _live(self, site: str) -> None:
        """Run a site, and start it again whenever it was stopped, until all is over."""
        while not self.over.is_set():
            self.peers[site] = one = peer(self.made, self.network, site)
            try:
                one.run()
            except Stopped:
                continue

    def fault(self) -> None:
        """One fault of some seconds, then none."""
        kind = self.rng.choice(
            ["partition", "loss", "corruption", "freeze", "full disk", "clock", "rubbish", "restart"]
        )
        site, seconds = self.rng.choice(self.honest), self.rng.uniform(0.5, 3.0)
        self.wire.counts[kind] += 1
        if kind == "partition":
            self.wire.camp = frozenset(self.rng.sample(self.honest, 3))
        elif kind == "loss":
            self.wire.lost = 0.2
        elif kind == "corruption":
            self.wire.spoilt = 0.2
        elif kind == "freeze":
            self.network.frozen.add(site)
        elif kind == "full disk":
            self.full = site
        elif kind == "clock":
            self.skew = self.rng.choice([-3600.0, 3600.0])
        elif kind == "restart":
            self.peers[site].stop()
        else:
            for _ in range(10_000):
                self.rogue.post(self.rng.randbytes(self.rng.randrange(1, 1000)))
            self.wire.counts["messages of rubbish"] += 10_000
        time.sleep(seconds)
        self.wire.camp, self.wire.lost, self.wire.spoilt, self.full, self.skew = frozenset(), 0.0, 0.0, "", 0.0
        self.network.frozen.clear()

    def least(self) -> int:
        """How many rounds everybody has finished."""
        records = [self.made.folder / site / "record" for site in self.honest]
        return min(len(read(record).rounds) if (record / "rounds.jsonl").exists() else 0 for record in records)

    def wait(self, rounds: int) -> None:
        """Until everybody has finished so many."""
        until = time.monotonic() + 120
        while self.least() < rounds:
            assert time.monotonic() < until, "rounds have stopped ending"
            time.sleep(0.2)

    def end(self) -> None:
        self.over.set()
        for one in self.peers.values():
            one.stop()
        for thread in self.threads.values():
            thread.join(60)
        self.rogue.close()


@pytest.mark.soak
def test_a_hostile_wire_for_a_long_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = trial(
        tmp_path, sites=8, rounds=10**6, deadline=1.0, staleness=1, learn={"learning_rate": 1e-3, "batches": 2}
    )
    hostile = Hostile(made, monkeypatch)
    for thread in hostile.threads.values():
        thread.start()
    try:
        hostile.wait(3)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            time.sleep(hostile.rng.uniform(0.5, 2.0))
            hostile.fault()
        quiet = hostile.least()
        hostile.wait(quiet + 10)
    finally:
        hostile.end()
    assert not any(thread.is_alive() for thread in hostile.threads.values())
    verdicts = Counter[str]()
    for site in hostile.honest:
        record = read(made.folder / site / "record")
        numbers = [line["round"] for line in record.rounds]
        assert numbers == sorted(set(numbers))
        assert numbers[-1] == len(numbers) + sum(line["jumped"] for line in record.rounds)
        verdicts.update(one["verdict"] for line in record.rounds for one in line["neighbours"].values())
        heard = {
            name
            for line in record.rounds[quiet : quiet + 10]
            for name, one in line["neighbours"].items()
            if one["verdict"] in ("trusted", "distrusted")
        }
        assert heard == set(hostile.honest) - {site}, "once all is quiet everybody hears everybody again"
    assert verdicts["equivocated"] == 0
    counted = {"seed": SEED, "seconds": SECONDS, "rounds": hostile.least(), "faults": dict(hostile.wire.counts)}
    print(json.dumps(counted | {"verdicts": dict(verdicts)}, indent=2))
