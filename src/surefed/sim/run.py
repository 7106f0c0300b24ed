"""Play an experiment from its first round, or its last checkpoint, to its end, and leave a record."""

from __future__ import annotations

import platform
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any

import networkx as nx
import torch
from torch import nn

from surefed.core import Belief, Interrupted, RecordError
from surefed.data import Federation
from surefed.graphs import Graph
from surefed.records import Record, Recorder, read
from surefed.sim import checkpoint, toml
from surefed.sim.engine import World, begin, play_round, social
from surefed.sim.experiment import Experiment
from surefed.sim.metrics import evaluate
from surefed.sim.setup import Setup, assemble

Watcher = Callable[[int, dict[str, Any] | None], None]
"""Called after every round with the number of complete rounds and, if it was evaluated, its figures."""


SMALL = 1 << 18
"""Weights of all beliefs together up to which a run keeps to one thread."""


@dataclass(frozen=True)
class Run:
    """What a run gave: its record on disk, and everybody's belief.

    beliefs: the social belief of every client. [client, weight]
    """

    record: Record
    beliefs: Belief
    setup: Setup

    @property
    def folder(self) -> Path:
        """Where the record is."""
        return self.record.path

    @property
    def accuracy(self) -> float:
        """Mean test accuracy of the honest clients after the last round."""
        return float(self.record.last["accuracy"]["mean"])

    def model(self, client: int | str) -> nn.Module:
        """The network itself, its weights set to this client's posterior mean (the same module at each call)."""
        at = self.setup.clean.ids.index(client) if isinstance(client, str) else client
        parts = self.setup.network.split(self.beliefs.mean[at : at + 1])
        with torch.no_grad():
            for parameter, part in zip(self.setup.network.module.parameters(), parts, strict=True):
                parameter.copy_(part[0])
        return self.setup.network.module


def run(
    experiment: Experiment,
    *,
    out: Path | str | None = None,
    resume: bool = False,
    data: Federation | None = None,
    model: nn.Module | None = None,
    graph: Graph | nx.Graph | None = None,
    device: torch.device | str = "cpu",
    watch: Watcher | None = None,
) -> Run:
    """Play an experiment and record it.

    Args:
        experiment: all that decides the run.
        out: the folder of the record; default: runs/ and a name made from the experiment.
        resume: go on from the folder's checkpoint; without it, an unfinished run in the folder is an error.
        data, model, graph: given in Python instead of named in the experiment.
        device: "cpu", "cuda", ...
        watch: called after every round.

    A finished run of the same experiment is read, not computed again. Ctrl-C and SIGTERM end the run after the
    current round, with a checkpoint.
    """
    setup = assemble(experiment, data=data, model=model, graph=graph, device=device)
    folder = Path(out) if out is not None else Path("runs") / default_name(setup)
    recorder = Recorder(folder)
    world, finished = _open(recorder, setup, resume)
    if not finished:
        _play(recorder, setup, world, watch or (lambda round, figures: None))
    return Run(read(folder), social(setup, world), setup)


def default_name(setup: Setup) -> str:
    """A folder name that people can read and that differs between experiments."""
    given = setup.experiment
    words = f"{given.name}-{given.rule.name}-{given.attack.name}"
    return f"{re.sub(r'[^A-Za-z0-9_.]+', '-', words).strip('-.')[:60]}-{setup.identity[:8]}"


def _open(recorder: Recorder, setup: Setup, resume: bool) -> tuple[World, bool]:
    """Claim the folder: new, resumed or finished. Anything else in it is an error."""
    folder = recorder.path
    if folder.exists() and not folder.is_dir():
        raise RecordError(f"{folder} is a file; choose another folder with --out")
    if not (folder / "run.json").exists():
        if folder.exists() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
            known = {"experiment.toml"}  # left by a run that was killed while it began
            if {entry.name for entry in folder.iterdir()} - known:
                raise RecordError(f"{folder} holds something else than a run; choose another folder with --out")
        recorder.begin(toml.write(setup.experiment), _about(setup))
        recorder.rewind(0)
        return begin(setup), False
    record = read(folder)
    if record.run.get("identity") != setup.identity:
        raise RecordError(
            f"{folder} belongs to another experiment ({record.experiment.get('name', 'unnamed')!r}, rule "
            f"{record.experiment.get('rule', {}).get('name')!r}) or other data; choose another folder with --out"
        )
    if record.finished:
        return checkpoint.load(recorder.checkpoint, setup), True
    if not resume:
        raise RecordError(f"{folder} holds this experiment, unfinished; go on with --resume, or choose another --out")
    world = checkpoint.load(recorder.checkpoint, setup) if recorder.checkpoint.exists() else begin(setup)
    recorder.rewind(world.round)
    return world, False


def _play(recorder: Recorder, setup: Setup, world: World, watch: Watcher) -> None:
    """The rounds that are left."""
    plan = setup.experiment
    started = lap = time.perf_counter()
    with _threads(world), _stop_signals() as stopped:
        while world.round < plan.rounds:
            done = world.round + 1
            look = done == 1 or done % plan.evaluate.every == 0 or done == plan.rounds
            inspection = play_round(setup, world, detail=look)
            figures = None
            if look:
                played = time.perf_counter()
                evaluation = evaluate(setup, world, inspection)
                figures = evaluation.figures
                if plan.evaluate.trust:
                    recorder.trust(done, evaluation.arrays)
                now = time.perf_counter()
                recorder.round(figures, {"round": done, "rounds": played - lap, "evaluate": now - played})
                lap = now
            stop = stopped()
            if stop or done == plan.rounds or done % plan.checkpoint_every == 0:
                checkpoint.save(recorder.checkpoint, setup, world)
            watch(done, figures)
            if stop and done < plan.rounds:
                raise Interrupted(
                    f"stopped after round {done} of {plan.rounds}, saved in {recorder.path}; go on with --resume",
                    exit_code=128 + stop,
                )
    rounds = read(recorder.path).rounds
    recorder.finish({"rounds": world.round, "final": rounds[-1], "seconds": time.perf_counter() - started})


def _about(setup: Setup) -> dict[str, Any]:
    """Where and with what a run was made."""
    device = torch.cuda.get_device_name(setup.device) if setup.device.type == "cuda" else platform.machine()
    return {
        "identity": setup.identity,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": f"{setup.device.type}: {device}",
        "weights": setup.network.weights,
        "clients": list(setup.clean.ids),
        "malicious": [name for name, bad in zip(setup.clean.ids, setup.malicious.tolist(), strict=True) if bad],
        "layers": dict(zip(setup.network.names, setup.network.sizes, strict=True)),
        "versions": {
            "surefed": version("surefed"),
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": version("numpy"),
        },
    }


@contextmanager
def _threads(world: World) -> Iterator[None]:
    """Small work runs on one thread: OpenMP's idle threads spin, and beside any other load that costs several times
    what the second thread gains (docs/decisions.md).
    """
    before = torch.get_num_threads()
    if world.rows.mean.numel() <= SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _stop_signals() -> Iterator[Callable[[], int]]:
    """Note SIGINT and SIGTERM instead of dying in the middle of a round; a second one dies at once."""
    got = 0

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal got
        if got:
            raise KeyboardInterrupt
        got = number

    if threading.current_thread() is not threading.main_thread():
        yield lambda: 0
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: got
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
