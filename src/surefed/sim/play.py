"""A run under way: its folder opened, then one round after another, measured, written down and saved."""

from __future__ import annotations

import logging
import platform
import signal
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from surefed.core import Interrupted, RecordError
from surefed.core.versions import versions
from surefed.graphs.connectivity import warning
from surefed.records import Record, Recorder, alone, read
from surefed.rules import Inspection
from surefed.sim import checkpoint, toml
from surefed.sim.engine import begin, play_round
from surefed.sim.metrics import evaluate
from surefed.sim.setup import Setup
from surefed.sim.world import World

Watcher = Callable[[int, dict[str, Any] | None], None]
"""Called after every round with the number of complete rounds and, if it was evaluated, its figures."""

LOG = logging.getLogger("surefed")

SMALL = 1 << 18
"""Weights of all beliefs together up to which a run keeps to one thread."""


class Play:
    """A run under way.

    finished: whether its record was complete when it was opened, so that there is nothing to do.
    mates: how many runs take turns in this process, this one among them: its share of the clock is one of so many.
    evaluated: seconds that the last round's evaluation took, 0 where there was none.
    """

    def __init__(self, recorder: Recorder, setup: Setup, world: World, watch: Watcher | None, finished: bool) -> None:
        self.recorder, self.setup, self.world, self.finished = recorder, setup, world, finished
        self.watch = watch or (lambda round, figures: None)
        self.mates, self.evaluated = 1, 0.0
        self._since: float | None = None

    @property
    def left(self) -> int:
        """How many rounds are still to be played."""
        return self.setup.experiment.rounds - self.world.round

    def step(self, stopped: Callable[[], int] = lambda: 0) -> None:
        """One round more; stopped: the signal, if there was one, that asks to save and end."""
        plan = self.setup.experiment
        self._since = self._since or time.perf_counter()
        done = self.world.round + 1
        look = done == 1 or done % plan.evaluate.every == 0 or done == plan.rounds
        inspection = play_round(self.setup, self.world, detail=look)
        self.evaluated = 0.0
        figures = self._measure(inspection) if look else None
        stop = stopped()
        if stop or done == plan.rounds or done % plan.checkpoint_every == 0:
            self.save()
        self.watch(done, figures)
        if stop and self.left:
            raise self.interrupted(stop)

    def _measure(self, inspection: Inspection) -> dict[str, Any]:
        """The figures of the round that was just played, written down."""
        if self.setup.device.type == "cuda":
            # else the evaluation would wait for the rounds, and pay for them
            torch.cuda.current_stream(self.setup.device).synchronize()
        played = time.perf_counter()
        evaluation = evaluate(self.setup, self.world, inspection)
        if self.setup.experiment.evaluate.trust:
            self.recorder.trust(self.world.round, evaluation.arrays)
        now = time.perf_counter()
        took = {"rounds": (played - (self._since or played)) / self.mates, "evaluate": now - played}
        self.recorder.round(evaluation.figures, {"round": self.world.round, **took})
        self._since, self.evaluated = now, now - played
        return evaluation.figures

    def excuse(self, seconds: float) -> None:
        """Seconds that another run has on its own account are not this one's."""
        if self._since is not None:
            self._since += seconds

    def save(self) -> None:
        """Write a checkpoint."""
        checkpoint.save(self.recorder.checkpoint, self.setup, self.world)

    def interrupted(self, stop: int) -> Interrupted:
        """What to say of a run that a signal ended after it was saved."""
        done, rounds = self.world.round, self.setup.experiment.rounds
        return Interrupted(
            f"after round {done} of {rounds}; all of it is saved in {self.recorder.path}, go on with --resume",
            exit_code=128 + stop,
        )

    def go_back(self) -> None:
        """Return to the last checkpoint or, where there is none, to the beginning."""
        self.world = _last(self.recorder, self.setup)
        self._since = None

    def finish(self) -> None:
        """Write the final figures."""
        record = read(self.recorder.path)
        seconds = sum(line["rounds"] + line["evaluate"] for line in record.timing)
        self.recorder.finish({"rounds": self.world.round, "final": record.last, "seconds": seconds})


@contextmanager
def opened(folder: Path, setup: Setup, *, resume: bool, watch: Watcher | None = None) -> Iterator[Play]:
    """Hold a folder, alone, for a run that begins there, goes on or is finished already."""
    recorder = Recorder(folder)
    _check(recorder, setup)
    with alone(folder):
        world, finished = _open(recorder, setup, resume)
        yield Play(recorder, setup, world, watch, finished)


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
    return _last(recorder, setup), False


def _last(recorder: Recorder, setup: Setup) -> World:
    """The world as it was last saved or, if it never was, as it begins; the record forgets what came after."""
    path = recorder.checkpoint
    world = checkpoint.load(path, setup) if path.exists() else begin(setup)
    recorder.rewind(world.round)
    return world


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
        "versions": versions(),
    }


def _notices(setup: Setup) -> list[str]:
    """What a person should know before the run, told once and kept in its record."""
    if setup.experiment.graph.name == "complete":
        return []
    doubt = warning(setup.graph, ~setup.malicious, setup.experiment.rounds, setup.clean.ids)
    return [] if doubt is None else [doubt]


@contextmanager
def threads(world: World) -> Iterator[None]:
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
def stop_signals() -> Iterator[Callable[[], int]]:
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
