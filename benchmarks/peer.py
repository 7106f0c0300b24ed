"""What a federation of real processes costs, beside the same rounds in the simulator.

    python benchmarks/peer.py --sites 8 --rounds 60 --hidden 1024

A process for every site, TLS over loopback, the state and the record on disk after every round. Seconds a round are the
median over rounds and sites, after the first five; CPU and memory are those of one process. Wire is what went through
the loopback device for each byte of belief that a site had to hear: TCP, TLS, requests and manifests included.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import psutil
import torch

from surefed.peer.attempt import Attempt, prepare, processes
from surefed.peer.settings import Kind
from surefed.records import read
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round

WARM = 5


def simulated(attempt: Attempt) -> float:
    """Seconds a round in the simulator, on one thread: the median."""
    torch.set_num_threads(1)
    setup = assemble(attempt.plan, data=attempt.whole)
    world, laps = begin(setup), []
    for _ in range(attempt.plan.rounds):
        began = time.perf_counter()
        play_round(setup, world)
        laps.append(time.perf_counter() - began)
    return statistics.median(laps[WARM:])


def measured(attempt: Attempt) -> dict[str, float]:
    """What the processes took."""
    before = psutil.net_io_counters(pernic=True)["lo"].bytes_sent
    cpu: dict[str, float] = {}
    started: dict[str, float] = {}
    memory: dict[str, int] = {}
    with processes(attempt) as running:
        while any(one.poll() is None for one in running.values()):
            for site, one in running.items():
                said = attempt.status(site)
                try:
                    process = psutil.Process(one.pid)
                    spent = sum(process.cpu_times()[:2])
                    memory[site] = max(memory.get(site, 0), process.memory_info().rss)
                except psutil.Error:
                    continue
                if said is not None and said["round"] < WARM:
                    started[site] = spent
                elif said is not None:
                    cpu[site] = spent
            time.sleep(0.05)
    sent = psutil.net_io_counters(pernic=True)["lo"].bytes_sent - before
    rounds, sites = attempt.charter.rounds, len(attempt.charter.sites)
    laps = [line["rounds"] for site in attempt.charter.sites for line in read(attempt.record(site)).timing[WARM:]]
    learn = [line["learn"] for site in attempt.charter.sites for line in read(attempt.record(site)).timing[WARM:]]
    return {
        "round": statistics.median(laps),
        "learn": statistics.median(learn),
        "cpu": statistics.median((cpu[site] - started.get(site, 0.0)) / (rounds - WARM) for site in cpu),
        "memory": statistics.median(memory.values()) / 2**20,
        "wire": sent / (rounds * sites * (sites - 1) * attempt.charter.size),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--hidden", type=int, nargs="+", default=[32, 1024], help="hidden units, one federation each")
    parser.add_argument("--transports", nargs="+", default=["zenoh", "grpc"])
    asked = parser.parse_args()
    print("| weights | transport | s a round | simulator | CPU s a round and peer | MiB a peer | wire |")
    print("|--:|---|--:|--:|--:|--:|--:|")
    for hidden in asked.hidden:
        kinds: list[Kind] = asked.transports
        for kind in kinds:
            with tempfile.TemporaryDirectory() as scratch:
                terms = {"model": {"name": "mlp", "hidden": [hidden]}, "rule": {"name": "surefed"}}
                attempt = prepare(
                    Path(scratch), sites=asked.sites, malicious=0, rounds=asked.rounds, transport=kind, terms=terms
                )
                took, alone = measured(attempt), simulated(attempt)
            print(
                f"| {attempt.charter.weights} | {kind} | {took['round']:.3f} | {alone:.4f} | {took['cpu']:.3f} | "
                f"{took['memory']:.0f} | {took['wire']:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
