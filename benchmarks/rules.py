"""What each rule costs: one step of 50 receivers and senders with the weights of the paper's CNN, complete graph.

    python benchmarks/rules.py [--clients 50] [--weights 97982] [--passes 3] [--threads 2]

Learning is not counted. Rules that run received models on own data (they need `loss`) pay for 50 x 50 evaluations on
top, which are timed as part of their step with a stand-in for the loss and so are not comparable here; `surefed run`
with `rule.name=zeno` shows their real cost. Memory is the most that a step held beyond what it was given.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import torch

from surefed.core import Belief
from surefed.rules import RULES, Receivers


def peak() -> float:
    """MiB held at most so far by this process."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--weights", type=int, default=97_982)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    rng = torch.Generator().manual_seed(0)

    def near(spread: float) -> Belief:
        mean = spread * torch.randn(given.clients, given.weights, generator=rng)
        return Belief(mean, torch.full_like(mean, -3.0))

    sent, local = near(0.01), near(0.01)
    edges = torch.ones(given.clients, given.clients, dtype=torch.bool)
    at = Receivers(
        sent,
        round=3,
        rounds=10,
        local=local,
        local_learns=torch.ones(given.clients, dtype=torch.bool),
        previous=near(0.01),
        malicious=torch.full((given.clients,), given.clients * 2 // 5),
        honest=torch.arange(given.clients) >= given.clients * 2 // 5,
        halves=(near(0.01), near(0.01)),
        loss=lambda models, samples: torch.zeros(given.clients, len(models)) + models[:, :1].T,
        layers=(given.weights,),
    )
    rules = {name: factory() for name, factory in RULES.items()} | {
        "surefed, auto": RULES["surefed"](kappa="auto"),
        "surefed, floor": RULES["surefed"](std_floor=0.5),
    }
    seconds: dict[str, list[float]] = {name: [] for name in rules}
    grown: dict[str, float] = {}
    for turn in range(given.passes + 1):  # the first is a warm-up
        for name, rule in rules.items():
            before = peak()
            start = time.perf_counter()
            rule.step(at, sent, edges, rule.init(given.clients, given.clients))
            if turn:
                seconds[name].append(time.perf_counter() - start)
            grown[name] = max(grown.get(name, 0.0), peak() - before)
    base = statistics.median(seconds["surefed"])
    print(f"{given.clients} clients x {given.weights} weights, {given.threads} threads, median of {given.passes}")
    print(f"{'rule':20}{'seconds':>10}{'x surefed':>12}{'MiB more':>12}")
    for name, times in sorted(seconds.items(), key=lambda item: statistics.median(item[1])):
        middle = statistics.median(times)
        print(f"{name:20}{middle:10.3f}{middle / base:12.2f}{grown[name]:12.0f}")
    print(f"peak of the whole process: {peak():.0f} MiB")


if __name__ == "__main__":
    main()
