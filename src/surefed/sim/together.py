"""Several runs in one process, round by round: those that learn the same local beliefs learn them once.

Half of what SureFED learns are local beliefs, on which neither the rule nor a lie has any influence. Of the runs whose
`kinship` is the same one learns them, and the others, at the same round, take them over.

On a GPU every run learns for itself, on a stream of its own: what one of them leaves idle another uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Any

import torch

from surefed.core import Interrupted, RecordError
from surefed.learn import Rows
from surefed.records import Record, read
from surefed.sim.assemble import assemble
from surefed.sim.experiment import Experiment
from surefed.sim.kinship import kinship, one_copy
from surefed.sim.play import Play, opened, stop_signals, threads

Onlooker = Callable[[Path, int, dict[str, Any] | None], None]
"""Called after every round of every run with its folder, the number of complete rounds and, if any, its figures."""

Ended = Callable[[Path, Exception | None], None]
"""Called when a run ends, with its folder and, unless it is finished, why."""


def run_together(
    experiments: Mapping[Path, Experiment],
    *,
    resume: bool = False,
    device: torch.device | str = "cpu",
    watch: Onlooker = lambda folder, round, figures: None,
    ended: Ended = lambda folder, error: None,
) -> dict[Path, Record | Exception]:
    """Play several experiments, each into a folder of its own, as `run` would; what becomes of each comes back.

    The folders hold what runs alone would have left. A run that fails leaves the others going. Ctrl-C and SIGTERM end
    all of them after the current round, each with a checkpoint.

    Args:
        experiments: by the folder of their record.
        resume: go on from the folders' checkpoints, where there are some; those that are behind catch up first.
        device: "cpu", "cuda", ...
        watch: called after every round of every run.
        ended: called when a run ends.
    """
    outcome: dict[Path, Record | Exception] = {}

    def end(folder: Path, error: Exception | None) -> None:
        try:
            outcome[folder] = read(folder) if error is None else error
        except RecordError as damaged:
            outcome[folder] = error = damaged
        ended(folder, error)

    with stop_signals() as stopped, _Convoy(end) as convoy:
        for folder, experiment in experiments.items():
            if not stopped():
                convoy.admit(folder, experiment, resume, device, watch, lone=len(experiments) == 1)
        while convoy.plays and not stopped():
            convoy.advance()
        left = len(experiments) - len(outcome)
        convoy.halt(stopped())
    if left:
        raise Interrupted(f"{left} runs are not done; what was begun is saved, go on with --resume", 128 + stopped())
    return outcome


class _Convoy:
    """The runs that are under way, and who learns for whom.

    kin: the kinship of each. turn: those that played a round last. leader: whose local beliefs a run takes over.
    Runs on a GPU have no kin but a lane, a stream of their own.
    """

    def __init__(self, end: Ended) -> None:
        self.end = end
        self.plays: dict[Path, Play] = {}
        self.kin: dict[Path, str | None] = {}
        self.turn: list[Path] = []
        self.leader: dict[Path, Path] = {}
        self._held: dict[Path, ExitStack] = {}
        self._lanes: dict[Path, torch.cuda.Stream | None] = {}

    def __enter__(self) -> _Convoy:
        return self

    def __exit__(self, *error: object) -> None:
        for held in self._held.values():
            held.close()

    def admit(
        self,
        folder: Path,
        experiment: Experiment,
        resume: bool,
        device: torch.device | str,
        watch: Onlooker,
        *,
        lone: bool,
    ) -> None:
        """Open a run's folder; one that is finished, or cannot be opened, ends at once. lone: nobody else will come."""

        def told(round: int, figures: dict[str, Any] | None) -> None:
            watch(folder, round, figures)

        with ExitStack() as held:
            try:
                setup = assemble(experiment, device=device)
                play = held.enter_context(opened(folder, setup, resume=resume, watch=told))
                kin = None if lone or play.finished else kinship(setup, play.world)
            except Exception as error:  # a run may fail in any way, and the others go on
                self.end(folder, error)
                return
            like = next((other for other, known in self.kin.items() if kin is not None and known == kin), None)
            if like is not None:
                play.setup = one_copy(setup, self.plays[like].setup)
            self.plays[folder], self.kin[folder], self._held[folder] = play, kin, held.pop_all()
            self._lanes[folder] = None if lone else _stream(setup.device)
        if not play.left:
            self._land(folder)

    def advance(self) -> None:
        """Whoever is furthest behind plays a round, each after the one it learns from; runs with a lane all do."""
        at = {folder: play.world.round for folder, play in self.plays.items()}
        last = min(at.values())
        turn = [folder for folder, round in at.items() if round == last or self._lanes[folder] is not None]
        if turn != self.turn:
            self._arrange(turn)
        for folder in sorted(turn, key=lambda folder: folder in self.leader):
            if folder in self.plays and self.plays[folder].world.round == at[folder]:
                self._step(folder)

    def halt(self, stop: int) -> None:
        """Every run is saved and ends."""
        for folder, play in list(self.plays.items()):
            try:
                with self._on(folder):
                    play.save()
            except Exception as error:  # the others can still be saved
                self._drop(folder, error)
            else:
                self._drop(folder, play.interrupted(stop))

    def _arrange(self, turn: list[Path]) -> None:
        """Of runs at the same round, the first of each kin leads, and the others take over what it learns."""
        leading: list[Path] = []
        for folder in turn:
            world, self.plays[folder].mates = self.plays[folder].world, len(turn)
            if self.leader.get(folder) in leading:
                continue
            if self.leader.pop(folder, None) is not None:
                world.borrow(None)
            leader = next((other for other in leading if self._learn_alike(folder, other)), None)
            if leader is None:
                leading.append(folder)
            else:
                self.leader[folder] = leader
                world.borrow(self._local(leader))
        self.turn = turn

    def _learn_alike(self, one: Path, other: Path) -> bool:
        """Whether two runs are kin, and have learned the same so far."""
        if self.kin[one] is None or self.kin[one] != self.kin[other]:
            return False
        return _equal(self._local(one), self._local(other))

    def _local(self, folder: Path) -> Rows:
        play = self.plays[folder]
        return play.world.rows[slice(play.setup.clients, None)]

    def _step(self, folder: Path) -> None:
        play = self.plays[folder]
        before = play.world.round
        try:
            with threads(play.world), self._on(folder):
                play.step()
        except Exception as error:  # a run may fail in any way, and the others go on
            self._drop(folder, error)
            if play.world.round == before:
                self._strand(folder)
            return
        for other in self.plays.values():
            if other is not play:
                other.excuse(play.evaluated)
        if not play.left:
            self._land(folder)

    def _strand(self, leader: Path) -> None:
        """Runs whose leader failed in the middle of a round go back to what they saved last."""
        for folder in [follower for follower, other in self.leader.items() if other == leader]:
            del self.leader[folder]
            try:
                self.plays[folder].go_back()
            except Exception as error:  # a run may fail in any way, and the others go on
                self._drop(folder, error)

    def _land(self, folder: Path) -> None:
        """A run whose rounds are played is finished."""
        try:
            if not self.plays[folder].finished:
                self.plays[folder].finish()
        except Exception as error:  # the others go on
            self._drop(folder, error)
        else:
            self._drop(folder, None)

    def _on(self, folder: Path) -> AbstractContextManager[object]:
        """What a run does in here is done on its own stream."""
        lane = self._lanes[folder]
        return nullcontext() if lane is None else torch.cuda.stream(lane)

    def _drop(self, folder: Path, error: Exception | None) -> None:
        lane = self._lanes.pop(folder)
        if lane is not None:
            with suppress(RuntimeError):  # a device that failed says so again, and again
                lane.synchronize()  # its memory must not be given to another while it is in use
        del self.plays[folder], self.kin[folder]
        self.leader.pop(folder, None)
        self._held.pop(folder).close()
        self.end(folder, error)


def _stream(device: torch.device) -> torch.cuda.Stream | None:
    """A stream that goes on from what has been asked of the device so far; none where there are no streams."""
    if device.type != "cuda":
        return None
    lane = torch.cuda.Stream(device)
    lane.wait_stream(torch.cuda.current_stream(device))
    return lane


def _equal(one: Rows, other: Rows) -> bool:
    """Whether rows are the same, bit for bit, with all that their optimiser remembers."""
    pairs = zip(
        (one.mean, one.rho, one.steps, one.buffers, *one.moments),
        (other.mean, other.rho, other.steps, other.buffers, *other.moments),
        strict=True,
    )
    return all(torch.equal(mine, theirs) for mine, theirs in pairs)
