"""Seconds per round of the batched engine, part by part, beside the per-client loop one would write first.

    python benchmarks/round.py [--clients 50] [--rounds 5] [--passes 3] [--threads 2] [--json FILE]

50 clients with the paper's CNN (97 982 weights), 5 batches of 5, both beliefs, complete graph. The loop has a network
per client and belief as plain modules, torch's autograd and fused Adam, `torch.randn` for the noise, a double loop
over pairs for the inspection and a loop over receivers for the pooling. Passes are interleaved, because machines are
noisy: the ratio of a pass holds where its seconds do not. Peak memory is that of a process of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from surefed.core import band, confidence_set, introspect, measure, pool
from surefed.data import Federation, federation
from surefed.learn import Network, accuracy, predict
from surefed.models import MODELS
from surefed.sim import Experiment
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, learn, local, play_round, social

PARTS = ("learn", "inspect", "pool", "evaluate")
KAPPA = 1e6  # everybody passes: the worst case for the inspection, which cannot stop early


def make_data(clients: int, samples: int = 100, tests: int = 600) -> Federation:
    rng = np.random.default_rng(0)

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.random((count, 1, 28, 28), dtype=np.float32), np.arange(count) % 10

    return federation([draw(samples) for _ in range(clients)], draw(tests))


@dataclass
class Clock:
    """Seconds spent in each part."""

    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))

    def time(self, part: str, work: Callable[[], object]) -> object:
        start = time.perf_counter()
        value = work()
        self.spent[part] += time.perf_counter() - start
        return value


class Engine:
    """The batched engine, its own functions timed one by one."""

    def __init__(self, data: Federation) -> None:
        rule = {"name": "surefed", "kappa": KAPPA}
        experiment = Experiment.of({"model": {"name": "cnn"}, "rule": rule, "attack": {"name": "none"}})
        self.setup = assemble(experiment, data=data)
        self.world = begin(self.setup)

    def round(self, clock: Clock) -> None:
        setup, world = self.setup, self.world
        clock.time("learn", lambda: learn(setup, world))
        mine, ours = local(setup, world), social(setup, world)
        assert mine is not None
        edges = setup.graph.edges(world.round)

        def inspect() -> Tensor:
            return confidence_set(measure(mine, band(mine, KAPPA), ours.mean), edges, ours.weights)

        def aggregate() -> None:
            pooled = pool(ours, trusted, otherwise=ours)
            repaired, _ = introspect(pooled, mine, band(mine, KAPPA), world.watch.learning)
            ours.mean.copy_(repaired.mean)
            ours.rho.copy_(repaired.rho)

        trusted: Tensor = clock.time("inspect", inspect)  # type: ignore[assignment]
        clock.time("pool", aggregate)
        world.round += 1

    def evaluate(self, clock: Clock) -> None:
        def work() -> Tensor:
            clean = self.setup.clean
            return accuracy(
                predict(self.setup.network, social(self.setup, self.world), clean.test_inputs), clean.test_labels
            )

        clock.time("evaluate", work)


class Loop:
    """One client at a time, one network at a time: what one writes first, with care but without stacking."""

    def __init__(self, data: Federation) -> None:
        self.data = data
        self.module: nn.Module = MODELS["cnn"](data.shape, data.classes)
        self.shapes = [(name, value.shape) for name, value in self.module.named_parameters()]
        start = Network(self.module).initial()
        self.models = []
        for _ in range(2 * data.clients):
            mean, rho = start.clone().requires_grad_(), torch.full_like(start, -3.0).requires_grad_()
            self.models.append((mean, rho, torch.optim.Adam([mean, rho], lr=1e-3, fused=True)))

    def scores(self, weights: Tensor, inputs: Tensor) -> Tensor:
        parameters, at = {}, 0
        for name, shape in self.shapes:
            parameters[name] = weights[at : at + shape.numel()].view(shape)
            at += shape.numel()
        return functional_call(self.module, parameters, (inputs,))  # type: ignore[no-any-return]

    def learn(self) -> None:
        for at, (mean, rho, optimiser) in enumerate(self.models):
            first = int(self.data.starts[at // 2])
            prior_mean, prior_std = mean.detach().clone(), F.softplus(rho.detach())
            for _ in range(5):
                batch = first + torch.randint(0, 100, (5,))
                std = F.softplus(rho)
                fit = F.cross_entropy(
                    self.scores(mean + std * torch.randn_like(std), self.data.inputs[batch]), self.data.labels[batch]
                )
                ratio = std / prior_std
                divergence = ((ratio.square() + ((mean - prior_mean) / prior_std).square() - 1) / 2 - ratio.log()).sum()
                optimiser.zero_grad()
                (fit + divergence / 25).backward()
                optimiser.step()

    @torch.no_grad()
    def inspect(self) -> list[list[int]]:
        sets = []
        for receiver in range(self.data.clients):
            mean, rho, _ = self.models[2 * receiver + 1]
            width = KAPPA * F.softplus(rho)
            sets.append(
                [
                    sender
                    for sender in range(self.data.clients)
                    if bool(((mean - self.models[2 * sender][0]).abs() <= width).all())
                ]
            )
        return sets

    @torch.no_grad()
    def pool(self, sets: list[list[int]]) -> None:
        pooled = []
        for trusted in sets:
            precision = [F.softplus(self.models[2 * sender][1]).square().reciprocal() for sender in trusted]
            total = torch.stack(precision).mean(0)
            weighted = torch.stack(
                [p * self.models[2 * sender][0] for p, sender in zip(precision, trusted, strict=True)]
            )
            pooled.append((weighted.mean(0) / total, total.rsqrt().expm1().log()))
        for receiver, (mean, rho) in enumerate(pooled):
            self.models[2 * receiver][0].copy_(mean)
            self.models[2 * receiver][1].copy_(rho)

    def round(self, clock: Clock) -> None:
        clock.time("learn", self.learn)
        sets: list[list[int]] = clock.time("inspect", self.inspect)  # type: ignore[assignment]
        clock.time("pool", lambda: self.pool(sets))

    @torch.no_grad()
    def evaluate(self, clock: Clock) -> None:
        def work() -> list[Tensor]:
            return [
                (self.scores(self.models[2 * at][0], self.data.test_inputs).argmax(-1) == self.data.test_labels)
                .float()
                .mean()
                for at in range(self.data.clients)
            ]

        clock.time("evaluate", work)


KINDS = {"loop": Loop, "engine": Engine}


def peak_memory(kind: str, clients: int) -> float:
    """MiB at most held by a process that plays two rounds."""
    done = subprocess.run(
        [sys.executable, __file__, "--clients", str(clients), "--memory", kind],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def measure_rounds(clients: int, rounds: int, passes: int) -> dict[str, list[dict[str, float]]]:
    """Seconds per round and part: for each kind, a list of passes."""
    data = make_data(clients)
    players = {name: kind(data) for name, kind in KINDS.items()}
    for player in players.values():  # warm up
        player.round(Clock())
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in players}
    for _ in range(passes):
        for name, player in players.items():
            clock = Clock()
            for _ in range(rounds):
                player.round(clock)
            spent = {part: clock.spent[part] / rounds for part in ("learn", "inspect", "pool")}
            player.evaluate(clock)
            seen[name].append(spent | {"round": sum(spent.values()), "evaluate": clock.spent["evaluate"]})
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", type=Path)
    parser.add_argument("--memory", choices=KINDS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.memory:
        player = KINDS[given.memory](make_data(given.clients))
        player.round(Clock())
        player.round(Clock())
        status = Path("/proc/self/status").read_text()  # ru_maxrss would count the process that started this one
        print(int(status.split("VmHWM:")[1].split()[0]) / 1024)
        return
    seen = measure_rounds(given.clients, given.rounds, given.passes)
    ratios = [slow["round"] / fast["round"] for slow, fast in zip(seen["loop"], seen["engine"], strict=True)]
    memory = {kind: peak_memory(kind, given.clients) for kind in KINDS}
    print(
        f"{given.clients} clients, {given.threads} threads, torch {torch.__version__}; median of {given.passes} passes"
    )
    print(f"{'':8}" + "".join(f"{part:>10}" for part in (*PARTS, "round")) + f"{'MiB':>10}")
    for kind, passes in seen.items():
        middle = {part: statistics.median(one[part] for one in passes) for part in passes[0]}
        print(f"{kind:8}" + "".join(f"{middle[part]:10.3f}" for part in (*PARTS, "round")) + f"{memory[kind]:10.0f}")
    print("round, loop / engine, pass by pass: " + "  ".join(f"{ratio:.2f}" for ratio in ratios))
    # The engine that was timed in parts is the engine that runs: the whole round once more, undivided.
    engine = Engine(make_data(given.clients))
    play_round(engine.setup, engine.world)
    start = time.perf_counter()
    for _ in range(given.rounds):
        play_round(engine.setup, engine.world)
    print(f"play_round, undivided: {(time.perf_counter() - start) / given.rounds:.3f} s")
    if given.json:
        given.json.write_text(json.dumps({"seconds": seen, "ratios": ratios, "peak_mib": memory}, indent=2) + "\n")


if __name__ == "__main__":
    main()
