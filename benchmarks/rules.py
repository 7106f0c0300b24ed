"""What each rule costs: one step of 50 receivers and senders with the weights of the paper's CNN, complete graph.

    python benchmarks/rules.py [--clients 50] [--passes 3] [--threads 2]

Learning is not counted. Rules that run received models on own data (they need `loss`) evaluate 50 models on samples of
50 receivers, with the paper's CNN on images of 28 x 28; they are listed apart. Memory is the most that a step held
beyond what it was given.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import torch

from surefed.core import Belief
from surefed.learn import Network, losses, predict
from surefed.models import MODELS
from surefed.rules import RULES, Receivers
from surefed.rules.before import BEFORE, preceded


def peak() -> float:
    """MiB held at most so far by this process."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    rng = torch.Generator().manual_seed(0)
    network = Network(MODELS["cnn"]((1, 28, 28), 10))

    start = torch.zeros(network.weights)
    way = 0.01 * torch.randn(network.weights, generator=rng)  # that all have gone, each with noise of its own

    def near(spread: float) -> Belief:
        mean = way + spread * torch.randn(given.clients, network.weights, generator=rng)
        return Belief(mean, torch.full_like(mean, -3.0))

    def loss(models: torch.Tensor, samples: int) -> torch.Tensor:
        """Every model on so many images of every receiver. [receiver, model]"""
        images = torch.rand(given.clients * samples, 1, 28, 28, generator=rng)
        labels = torch.randint(10, (len(images),), generator=rng)
        each = losses(predict(network, Belief(models, torch.zeros_like(models)), images), labels)
        return each.view(len(models), given.clients, samples).mean(-1).T

    sent, local = near(0.005), near(0.005)
    edges = torch.ones(given.clients, given.clients, dtype=torch.bool)
    at = Receivers(
        sent,
        round=3,
        rounds=10,
        local=local,
        local_learns=torch.ones(given.clients, dtype=torch.bool),
        start=start,
        previous=near(0.005),
        malicious=torch.full((given.clients,), given.clients * 2 // 5),
        honest=torch.arange(given.clients) >= given.clients * 2 // 5,
        degrees=edges.sum(1) - 1,
        halves=(near(0.005), near(0.005)),
        loss=loss,
        layers=network.sizes,
    )
    rules = {name: factory() for name, factory in RULES.items()} | {
        "surefed, auto": RULES["surefed"](kappa="auto"),
        "surefed, the band alone": RULES["surefed"](heading="off", std_floor=0.0, std_ceiling=0.0),
        "krum, nnm": preceded(RULES["krum"](), BEFORE["nnm"]()),
        "median, bucketing": preceded(RULES["median"](), BEFORE["bucketing"]()),
    }
    seconds: dict[str, list[float]] = {name: [] for name in rules}
    grown: dict[str, float] = {}
    for turn in range(given.passes + 1):  # the first is a warm-up
        for name, rule in rules.items():
            before = peak()
            start = time.perf_counter()
            rule.step(at, sent, edges, rule.init(given.clients, given.clients, sent.weights))
            if turn:
                seconds[name].append(time.perf_counter() - start)
            grown[name] = max(grown.get(name, 0.0), peak() - before)
    base = statistics.median(seconds["surefed"])
    print(f"{given.clients} clients x {network.weights} weights, {given.threads} threads, median of {given.passes}")
    for title, apart in (("looks at weights", False), ("runs models on own data", True)):
        print(f"{title:26}{'seconds':>10}{'x surefed':>12}{'MiB more':>12}")
        for name, times in sorted(seconds.items(), key=lambda item: statistics.median(item[1])):
            if ("loss" in rules[name].needs) is apart:
                middle = statistics.median(times)
                print(f"  {name:24}{middle:10.3f}{middle / base:12.2f}{grown[name]:12.0f}")
    print(f"peak of the whole process: {peak():.0f} MiB")


if __name__ == "__main__":
    main()
