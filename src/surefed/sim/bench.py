"""How long a round takes, part by part, and what the memory of the machine would allow.

Called as a program, with a workload as JSON, it plays two rounds of one player and prints the MiB it held at most.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch

from surefed.core import ConfigError, cuda, native
from surefed.core.registry import options
from surefed.data import Federation, federation
from surefed.rules import RULES
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round, predictions
from surefed.sim.experiment import Experiment
from surefed.sim.loop import Loop
from surefed.sim.setup import Setup

Kind = Literal["engine", "loop"]
Seconds = dict[str, float]
"""Seconds per round of one pass: learn, rule, other, round, evaluate."""

KAPPA = 1e6
"""Everybody passes: the worst case for the inspection, which cannot stop early."""

SHAPES: dict[str, tuple[int, ...]] = {
    "resnet20": (3, 32, 32),
    "mlp": (1, 8, 8),
    "linear": (1, 8, 8),
    "conv1d": (1, 128),
}
"""The inputs a model is given; (1, 28, 28) for those not named."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What is played: random images, nobody malicious, the experiment's defaults (5 batches of 5, complete graph).

    rule: `surefed` gets a band so wide that all pass; a rule that trims, trims two fifths at either end.
    settings: changes to the experiment, such as `graph.name=regular`.
    """

    clients: int = 50
    model: str = "cnn"
    rule: str = "surefed"
    classes: int = 10
    samples: int = 100
    tests: int = 600
    device: str = "cpu"
    threads: int = 1
    settings: tuple[str, ...] = ()

    def data(self) -> Federation:
        """Random images, the same number for every client."""
        rng = np.random.default_rng(0)
        shape = SHAPES.get(self.model, (1, 28, 28))

        def draw(count: int) -> tuple[Any, Any]:
            return rng.random((count, *shape), dtype=np.float32), np.arange(count) % self.classes

        return federation([draw(self.samples) for _ in range(self.clients)], draw(self.tests), classes=self.classes)

    def experiment(self) -> Experiment:
        """What is played, as an experiment."""
        rule: dict[str, Any] = {"name": self.rule}
        if self.rule == "surefed":
            rule |= {"kappa": KAPPA, "heading": "off", "std_floor": 0.0, "std_ceiling": 0.0}
        elif self.rule in RULES and "trim" in options(RULES[self.rule]):
            rule["trim"] = self.clients * 2 // 5
        return Experiment.of({"model": {"name": self.model}, "rule": rule}).change(self.settings)

    def setup(self) -> Setup:
        """What is played, ready to be played."""
        return assemble(self.experiment(), data=self.data(), device=self.device)


class Clock:
    """Seconds spent in each part; on a GPU, until its work is done."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.spent: Seconds = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Add the time that the block takes."""
        self._wait()
        start = time.perf_counter()
        yield
        self._wait()
        self.spent[name] = self.spent.get(name, 0.0) + time.perf_counter() - start

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


class _Timed:
    """An object with one of its methods on the clock."""

    def __init__(self, inner: Any, method: str, clock: Clock, part: str) -> None:
        self._inner, self._method, self._clock, self._part = inner, method, clock, part

    def __getattr__(self, name: str) -> Any:
        if name == "steady":  # the parts of a captured round cannot be told apart
            return False
        found = getattr(self._inner, name)
        if name != self._method:
            return found

        def timed(*given: Any) -> Any:
            with self._clock.part(self._part):
                return found(*given)

        return timed


class Player(Protocol):
    """Something that plays the workload."""

    def play(self) -> None:
        """One round."""

    def divide(self, clock: Clock) -> None:
        """One round with `learn` and `rule` on the clock."""

    def evaluate(self) -> None:
        """Everybody's social belief on the test set."""


class Engine:
    """The batched engine: what `surefed run` runs."""

    def __init__(self, workload: Workload) -> None:
        self.setup = workload.setup()
        self.world = begin(self.setup)

    def play(self) -> None:
        """One round."""
        play_round(self.setup, self.world)

    def divide(self, clock: Clock) -> None:
        """One round with its learner and its rule on the clock."""
        learner: Any = _Timed(self.setup.learner, "learn", clock, "learn")
        rule: Any = _Timed(self.setup.rule, "step", clock, "rule")
        play_round(replace(self.setup, learner=learner, rule=rule), self.world)

    def evaluate(self) -> None:
        """Everybody's social belief on the test set."""
        clean = self.setup.clean
        predicted = predictions(self.setup, self.world, "social", clean.test_inputs)
        self.setup.network.likelihood.figures(predicted, clean.test_labels)

    @property
    def kernels(self) -> bool:
        """Whether kernels of our own do the work that they can do, or torch does all."""
        mean = self.world.rows.mean
        return native.fits(mean) or cuda.fits(mean)

    @property
    def state_bytes(self) -> int:
        """Bytes of mean, rho and the optimiser's moments of all beliefs."""
        rows = self.world.rows
        return sum(value.nbytes for value in (rows.mean, rows.rho, *rows.moments))


class Straight:
    """The loop over clients."""

    def __init__(self, workload: Workload) -> None:
        if workload.rule != "surefed" or workload.settings:
            raise ConfigError("the loop plays the rule 'surefed', and --set does not change it; leave out --compare")
        setup = workload.setup()
        self.loop = Loop(setup.network.module, setup.clean, setup.experiment.learn, KAPPA)

    def play(self) -> None:
        """One round."""
        self.loop.learn()
        self.loop.judge()

    def divide(self, clock: Clock) -> None:
        """One round with its two parts on the clock."""
        with clock.part("learn"):
            self.loop.learn()
        with clock.part("rule"):
            self.loop.judge()

    def evaluate(self) -> None:
        """Everybody's social belief on the test set."""
        self.loop.evaluate()


PLAYERS: dict[Kind, Callable[[Workload], Player]] = {"engine": Engine, "loop": Straight}


def one_pass(player: Player, rounds: int, device: torch.device) -> Seconds:
    """Seconds per round: some rounds undivided, as many part by part, one evaluation."""
    clock = Clock(device)
    with clock.part("round"):
        for _ in range(rounds):
            player.play()
    with clock.part("divided"):
        for _ in range(rounds):
            player.divide(clock)
    spent = {name: value / rounds for name, value in clock.spent.items()}
    with clock.part("evaluate"):
        player.evaluate()
    other = spent["divided"] - spent["learn"] - spent["rule"]
    parts = {"learn": spent["learn"], "rule": spent["rule"], "other": other, "round": spent["round"]}
    return parts | {"evaluate": clock.spent["evaluate"]}


def interleaved(
    players: dict[Kind, Player], rounds: int, passes: int, device: torch.device
) -> dict[Kind, list[Seconds]]:
    """Passes of all players in turn, after a warm-up, so that a noisy moment of the machine hits all of them."""
    for player in players.values():
        one_pass(player, 1, device)
    seen: dict[Kind, list[Seconds]] = {kind: [] for kind in players}
    for _ in range(passes):
        for kind, player in players.items():
            seen[kind].append(one_pass(player, rounds, device))
    return seen


def middle(passes: list[Seconds]) -> Seconds:
    """The median pass, part by part."""
    return {part: statistics.median(one[part] for one in passes) for part in passes[0]}


def copy_bandwidth(device: torch.device, size: int, repeats: int = 9) -> float:
    """Bytes per second, read and written, of the fastest of some copies of `size` bytes."""
    source = torch.ones(size // 4, device=device)
    target = torch.zeros_like(source)
    times = []
    for _ in range(repeats):
        clock = Clock(device)
        with clock.part("copy"):
            target.copy_(source)
        times.append(clock.spent["copy"])
    return 2 * source.nbytes / min(times)


def peak_mib(kind: Kind, workload: Workload) -> float | None:
    """MiB that a process of its own holds at most, on the workload's device, while it plays two rounds."""
    command = [sys.executable, "-m", __name__, kind, json.dumps(asdict(workload))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return None if done.stdout.strip() == "None" else float(done.stdout)


def _held(device: torch.device) -> float | None:
    """MiB held at most so far; None where the system does not tell."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    status = Path("/proc/self/status")  # ru_maxrss would count the process that started this one
    return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024 if status.exists() else None


def _main(kind: Kind, workload: Workload) -> None:
    torch.set_num_threads(workload.threads)
    player = PLAYERS[kind](workload)
    player.play()
    player.play()
    print(_held(torch.device(workload.device)))


if __name__ == "__main__":
    _given = json.loads(sys.argv[2])
    _main(sys.argv[1], Workload(**_given | {"settings": tuple(_given["settings"])}))  # type: ignore[arg-type]
