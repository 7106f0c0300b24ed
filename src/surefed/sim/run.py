"""Play an experiment from its first round, or its last checkpoint, to its end, and leave a record."""

from __future__ import annotations

import copy
import logging
import platform
import re
import signal
import threading
import time
import tomllib
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
from torch import Tensor, nn

from surefed.core import Belief, Interrupted, RecordError
from surefed.data import Federation
from surefed.graphs import Graph
from surefed.graphs.connectivity import warning
from surefed.records import Record, Recorder, alone, read
from surefed.sim import checkpoint, toml
from surefed.sim.assemble import assemble
from surefed.sim.engine import World, begin, play_round, social
from surefed.sim.experiment import Experiment
from surefed.sim.metrics import evaluate
from surefed.sim.setup import Setup

Watcher = Callable[[int, dict[str, Any] | None], None]
"""Called after every round with the number of complete rounds and, if it was evaluated, its figures."""

LOG = logging.getLogger("surefed")

SMALL = 1 << 18
"""Weights of all beliefs together up to which a run keeps to one thread."""


@dataclass(frozen=True)
class Run:
    """What a run gave: its record on disk, and everybody's belief.

    beliefs: the social belief of every client. [client, weight]
    statistics: every client's own running statistics, where the network has BatchNorm. [client, number]
    """

    record: Record
    beliefs: Belief
    setup: Setup
    statistics: Tensor

    @property
    def folder(self) -> Path:
        """Where the record is."""
        return self.record.path

    @property
    def accuracy(self) -> float:
        """Mean test accuracy of the honest clients after the last round; where labels are numbers there is none."""
        if "accuracy" not in self.record.last:
            raise AttributeError("labels are numbers here, so there is no accuracy; run.record.last has rmse and r2")
        return float(self.record.last["accuracy"]["mean"])

    def model(self, client: int | str) -> nn.Module:
        """A copy of the network, ready to predict, with this client's posterior mean as its weights.

        A client is its number or its id.
        """
        ids = self.setup.clean.ids
        at = client if isinstance(client, int) else ids.index(client) if client in ids else -1
        if not 0 <= at < len(ids):
            raise KeyError(f"there is no client {client!r}; there are {len(ids)}, {ids[0]!r} to {ids[-1]!r}")
        network = self.setup.network
        module = copy.deepcopy(network.module).eval()
        kept = dict(module.named_buffers())
        with torch.no_grad():
            for parameter, part in zip(module.parameters(), network.split(self.beliefs.mean[at : at + 1]), strict=True):
                parameter.copy_(part[0])
            for name, part in zip(network.buffer_names, self.statistics[at].split(network.buffer_sizes), strict=True):
                kept[name].copy_(part.view_as(kept[name]))
        return module


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
    _check(recorder, setup)
    with alone(folder):
        world, finished = _open(recorder, setup, resume)
        if not finished:
            _play(recorder, setup, world, watch or (lambda round, figures: None))
    return Run(read(folder), social(setup, world), setup, world.rows.buffers[: setup.clients])


def default_name(setup: Setup) -> str:
    """A folder name that people can read and that differs between experiments."""
    given = setup.experiment
    words = re.sub(r"[^\w.]+", "-", f"{given.name}-{given.rule.name}-{given.attack.name}")
    return f"{words.strip('-.')[:60]}-{setup.identity[:8]}"


def _check(recorder: Recorder, setup: Setup) -> None:
    """Refuse a folder that holds anything but this experiment's run, before a byte is written."""
    folder = recorder.path
    if folder.exists() and not folder.is_dir():
        raise RecordError(f"{folder} is a file; choose another folder with --out")
    if not recorder.begun:
        found = {entry.name for entry in folder.iterdir()} if folder.exists() else set()
        found = {name for name in found if not (name.startswith(".") and name.endswith((".new", ".lock")))}
        if found == {"experiment.toml"} and recorder.experiment() == toml.write(setup.experiment):
            found = set()  # left by a run that was killed while it began
        if found:
            raise RecordError(
                f"{folder} holds something else than a run ({sorted(found)[0]}); choose another folder with --out"
            )
        return
    record = read(folder)
    if record.run.get("identity") != setup.identity:
        raise RecordError(
            f"{folder} belongs to another experiment: {_difference(record, setup)}; choose another folder with --out"
        )


def _difference(record: Record, setup: Setup) -> str:
    """What tells the experiment in a folder from the one that was to be run there."""
    there, here = _flat(record.experiment), _flat(tomllib.loads(toml.write(setup.experiment)))
    for name in sorted(there.keys() | here.keys()):
        if name not in ("name", "checkpoint_every") and there.get(name) != here.get(name):
            return f"{name} is {there.get(name, 'not set')!r} there and {here.get(name, 'not set')!r} here"
    return "its data, model or graph differ"


def _flat(table: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Nested tables as one, with dotted names."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= _flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return flat


def _open(recorder: Recorder, setup: Setup, resume: bool) -> tuple[World, bool]:
    """The world to go on from, and whether there is nothing left to do."""
    folder, path = recorder.path, recorder.checkpoint
    if not recorder.begun:
        about = _about(setup)
        recorder.begin(toml.write(setup.experiment), about)
        for notice in about["notices"]:
            LOG.warning("%s", notice)
        recorder.rewind(0)
        return begin(setup), False
    finished = read(folder).finished
    if finished and (path.exists() or not resume):
        if not path.exists():
            raise RecordError(
                f"{folder} is finished, but its beliefs are gone with {path.name}; `surefed show` still reads it, and "
                "--resume computes it again"
            )
        return checkpoint.load(path, setup), True
    if not finished and not resume:
        raise RecordError(f"{folder} holds this experiment, unfinished; go on with --resume, or choose another --out")
    world = checkpoint.load(path, setup) if path.exists() else begin(setup)
    recorder.rewind(world.round)
    return world, False


def _play(recorder: Recorder, setup: Setup, world: World, watch: Watcher) -> None:
    """The rounds that are left."""
    plan = setup.experiment
    lap = time.perf_counter()
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
                    f"after round {done} of {plan.rounds}; all of it is saved in {recorder.path}, go on with --resume",
                    exit_code=128 + stop,
                )
    record = read(recorder.path)
    seconds = sum(line["rounds"] + line["evaluate"] for line in record.timing)
    recorder.finish({"rounds": world.round, "final": record.last, "seconds": seconds})


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
        "bound": setup.rule.bound,
        "layers": dict(zip(setup.network.names, setup.network.sizes, strict=True)),
        "notices": _notices(setup),
        "versions": {
            "surefed": version("surefed"),
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": version("numpy"),
        },
    }


def _notices(setup: Setup) -> list[str]:
    """What a person should know before the run, told once and kept in its record."""
    if setup.experiment.graph.name == "complete":
        return []
    doubt = warning(setup.graph, ~setup.malicious, setup.experiment.rounds, setup.clean.ids)
    return [] if doubt is None else [doubt]


@contextmanager
def _threads(world: World) -> Iterator[None]:
    """Small work runs on one thread.

    OpenMP's idle threads spin, and beside any other load that costs several times what the second thread gains
    (docs/decisions.md).
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
