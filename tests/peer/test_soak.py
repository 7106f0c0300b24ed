"""A federation of real processes under random faults: nothing is lost, nobody honest stops, rounds keep ending.

`make soak` runs it. SUREFED_SOAK_SECONDS (default 120) is how long faults are made, SUREFED_SOAK_SEED (default 0) which
ones; the log of what was done and a summary of counts are printed and left in the folder that is named at the end.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from surefed.peer.attempt import Attempt, prepare, start
from surefed.peer.settings import Kind
from surefed.records import read

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
