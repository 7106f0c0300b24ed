"""What one GPU does: milliseconds a round, the update's share of the bandwidth, many clients, cells side by side.

    python benchmarks/gpu.py [--rounds 50] [--seconds 8]
    python benchmarks/gpu.py --kernels "CNN, zeno"    # what a round of it is made of
    python benchmarks/gpu.py --streams "CNN, zeno"    # rounds a second of several such cells in one process

The workload is that of `surefed bench`: 50 clients, the paper's CNN, 5 batches of 5, a band that everybody passes,
complete graph.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import subprocess
import sys
import time
from typing import Any

import numpy as np
import torch

from surefed.core import cuda
from surefed.data import federation
from surefed.sim import Experiment
from surefed.sim.assemble import assemble
from surefed.sim.bench import Workload, copy_bandwidth
from surefed.sim.engine import begin, play_round
from surefed.sim.setup import Setup
from surefed.sim.world import World

DEFAULTS = ("rule.heading=0.0", "rule.lowest=-1.0", "rule.kappa=200", "rule.std_floor=1.0", "rule.std_ceiling=2.0")
"""SureFED as it is by default, but that random images give nobody a heading."""
ROUNDS: dict[str, dict[str, Any]] = {
    "CNN, 10 classes": {},
    "CNN, 62 classes": {"classes": 62},
    "CNN, headings and record too": {"settings": ("rule.heading=0.0", "rule.lowest=-1.0")},
    "CNN, SureFED's defaults": {"settings": DEFAULTS},
    "CNN, kappa = auto": {"settings": ("rule.kappa=auto",)},
    "CNN, bayp2pfl": {"rule": "bayp2pfl"},
    "CNN, fedavg (plain networks)": {"rule": "fedavg"},
    "CNN, trimmed_mean": {"rule": "trimmed_mean"},
    "CNN, fltrust": {"rule": "fltrust"},
    "CNN, zeno": {"rule": "zeno", "settings": ("rule.drop=20",)},
    "ResNet-20": {"model": "resnet20"},
}
WEIGHTS = 97_982
NEARBY = "torch from one rounding error away"


def started(**given: Any) -> tuple[Setup, World]:
    setup = Workload(device="cuda", **given).setup()
    return setup, begin(setup)


def seconds(setup: Setup, world: World, rounds: int, warm: int = 4) -> float:
    """Seconds a round, after some to compile and capture."""
    for _ in range(warm):
        play_round(setup, world)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(rounds):
        play_round(setup, world)
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / rounds


def rounds(count: int) -> None:
    for name, given in ROUNDS.items():
        setup, world = started(**given)
        spent = seconds(setup, world, min(count, 10) if "ResNet" in name else count)
        print(f"| {name} | {1000 * spent:.2f} ms |", flush=True)


def kernels(names: list[str], count: int = 20, most: int = 45) -> None:
    """Microseconds a round of each kernel, the dearest first, and how often it is called."""
    for name in names:
        setup, world = started(**ROUNDS[name])
        spent = seconds(setup, world, count)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as found:
            for _ in range(count):
                play_round(setup, world)
            torch.cuda.synchronize()
        rows = sorted(found.key_averages(), key=lambda row: -row.self_device_time_total)
        busy = sum(row.self_device_time_total for row in rows) / count
        print(f"\n{name}: {1e6 * spent:.0f} us a round, kernels {busy:.0f}")
        for row in rows[:most]:
            took, often = row.self_device_time_total / count, row.count / count
            print(f"{took:9.1f} us {often:6.1f} x  {row.key[:110]}", flush=True)


def streams(names: list[str], count: int = 100) -> None:
    """Rounds a second of cells in one process, each on a stream of its own."""
    for name in names:
        told = []
        for cells in (1, 2, 4):
            worlds = [started(**ROUNDS[name]) for _ in range(cells)]
            lanes = [torch.cuda.Stream() for _ in worlds]
            for lane, pair in zip(lanes, worlds, strict=True):
                with torch.cuda.stream(lane):
                    seconds(*pair, 1)
            begun = time.perf_counter()
            for _ in range(count):
                for lane, pair in zip(lanes, worlds, strict=True):
                    with torch.cuda.stream(lane):
                        play_round(*pair)
            torch.cuda.synchronize()
            told.append(f"{cells}: {cells * count / (time.perf_counter() - begun):.0f}")
        print(f"| {name}, cells on streams: rounds/s | {', '.join(told)} |", flush=True)


def update() -> None:
    """The update alone: it reads nine arrays and writes seven."""
    module: Any = importlib.import_module("surefed.learn.cuda.update")
    told: Any = importlib.import_module("surefed.learn.cuda.round")
    rows = 100
    arrays = [torch.randn(rows, WEIGHTS, device="cuda").abs() for _ in range(10)]
    keys, few = torch.randint(2**32, (2, rows), device="cuda"), torch.rand(rows, 5, device="cuda")
    sums, round = torch.zeros(rows, device="cuda"), torch.ones(1, dtype=torch.int64, device="cuda")

    def step() -> None:
        module.update[(rows, -(-WEIGHTS // (256 * told.GROUPS)))](
            *arrays, *keys, few, few, few, sums, round, 1, 5, 0.1, 0.999, 0.001, -13.8, 10.0, 1e15, 0.0,
            WEIGHTS=WEIGHTS, FIXED=False, HALF=False, DITHER=1 << 31, GROUPS=told.GROUPS, num_warps=told.WARPS,
        )  # fmt: skip

    spent = captured(step)
    copied = copy_bandwidth(torch.device("cuda"), 1 << 31)
    moved = 16 * arrays[0].nbytes / spent
    print(
        f"| one update of 100 beliefs | {1e6 * spent:.0f} us, {moved / 1e12:.2f} TB/s, {moved / copied:.0%} of a copy |"
    )


def captured(step: Any, repeats: int = 20) -> float:
    """Seconds a call, of many calls in one graph."""
    step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            step()
    begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    graph.replay()
    begun.record()
    graph.replay()
    ended.record()
    torch.cuda.synchronize()
    return float(begun.elapsed_time(ended)) / 1000 / repeats


def many() -> None:
    """Clients on a 10-regular graph."""
    for clients in (1_000, 10_000):
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        graph = ("graph.name=regular", "graph.k=10")
        setup, world = started(clients=clients, samples=20, tests=10, settings=graph)
        spent = seconds(setup, world, rounds=3, warm=2)
        held = torch.cuda.max_memory_allocated() / clients / 1e6
        print(f"| {clients} clients, 10-regular | {spent:.3f} s, {held:.1f} MB a client |", flush=True)
        del setup, world


def cells(span: float) -> None:
    """Rounds a second of processes that share the GPU."""
    for count in (1, 2, 3):
        command = [sys.executable, *sys.argv, "--cell", str(span)]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
        speeds = [float(one.communicate()[0].split()[-1]) for one in running]
        print(f"| {count} cells at once | {sum(speeds):.0f} rounds/s together |", flush=True)


def cell(span: float) -> None:
    """Rounds a second in one span of the clock that all cells share."""
    setup, world = started()
    seconds(setup, world, 10)
    begun = (time.time() // (3 * span) + 1) * 3 * span  # cells begin together
    time.sleep(max(0.0, begun - time.time()))
    done = 0
    while time.time() < begun + span:
        for _ in range(20):
            play_round(setup, world)
        torch.cuda.synchronize()
        done += 20
    print(done / (time.time() - begun))


def agreement() -> None:
    """Fifty rounds with the kernels, with torch on the GPU and on the CPU; every class of images has a pattern.

    How far rounding alone takes one is seen by starting torch again, every mean moved to the next number there is.
    """
    torch.backends.cudnn.enabled = False  # its grouped convolutions are a thousandth off
    for model, shape in (("mlp", (1, 8, 8)), ("cnn", (1, 28, 28))):
        rng = np.random.default_rng(0)
        patterns = rng.random((10, *shape), dtype=np.float32)

        def draw(count: int, rng: Any = rng, patterns: Any = patterns) -> tuple[Any, Any]:
            labels = rng.integers(0, 10, count)
            return patterns[labels] + 0.3 * rng.standard_normal((count, *patterns.shape[1:])).astype(np.float32), labels

        data = federation([draw(60) for _ in range(8)], draw(100), classes=10)
        plan = {"model": {"name": model}, "attack": {"name": "label_flip", "malicious": 0.25}}
        found = {}
        for kind in ("kernels", "torch", "cpu", NEARBY):
            cuda._HERE = kind == "kernels"
            setup = assemble(Experiment.of(plan), data=data, device="cpu" if kind == "cpu" else "cuda")
            world = begin(setup)
            if kind == NEARBY:
                world.rows.mean.copy_(world.rows.mean.nextafter(torch.full_like(world.rows.mean, torch.inf)))
            means, trusted = {}, []
            for round in range(1, 51):
                trusted.append(play_round(setup, world).trusted.cpu())
                if round in (10, 20, 50):
                    means[round] = world.rows.mean.cpu().clone()
            found[kind] = means, trusted
        cuda._HERE = True
        for one, other in (("kernels", "torch"), ("kernels", "cpu"), (NEARBY, "torch")):
            (mine, trusted), (theirs, expected) = found[one], found[other]
            apart = ", ".join(f"{float((mine[at] - theirs[at]).norm() / theirs[at].norm()):.1e}" for at in mine)
            same = sum(torch.equal(*pair) for pair in zip(trusted, expected, strict=True))
            print(f"| {model} after 10, 20, 50 rounds: {one}, {other} | {apart} apart, trust the same in {same} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--kernels", action="append", choices=ROUNDS, help="only say what such a round is made of")
    parser.add_argument(
        "--streams", action="append", choices=ROUNDS, help="only time such cells on streams of one process"
    )
    parser.add_argument("--cell", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cell is not None:
        cell(given.cell)
        return
    if given.kernels:
        kernels(given.kernels)
        return
    if given.streams:
        streams(given.streams)
        return
    print(f"| {torch.cuda.get_device_name()}, torch {torch.__version__} | a round |\n|---|--:|")
    rounds(given.rounds)
    update()
    many()
    agreement()
    cells(given.seconds)


if __name__ == "__main__":
    main()
