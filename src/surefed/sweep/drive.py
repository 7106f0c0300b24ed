"""Run the cells of a sweep: finished ones are skipped, begun ones go on, failed ones are kept with their error."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from surefed.core import ConfigError, Interrupted, SureFEDError
from surefed.records import alone
from surefed.sim.kinship import likeness
from surefed.sweep.board import Board, duration
from surefed.sweep.cluster import Cluster
from surefed.sweep.events import Backend, Event
from surefed.sweep.folder import Folder
from surefed.sweep.grid import Cell, Sweep
from surefed.sweep.processes import Processes, cores
from surefed.sweep.session import session

Watch = Callable[[Board, str | None], None]
"""Called about twice a second, and with a sentence whenever something happened."""

ATTEMPTS = 3
"""How often a cell is tried whose process dies."""
TICK = 0.5
TIME_IS_UP = 124
"""The exit code of a sweep that its time limit stopped, as that of timeout(1)."""


class CellsFailed(SureFEDError):
    """Some cells of a sweep failed; the others are done."""

    exit_code = 7


def run_sweep(
    sweep: Sweep,
    out: Path | str,
    *,
    device: str = "cpu",
    workers: int | None = None,
    ray: str | None = None,
    gpu_share: float | None = None,
    retry_failed: bool = False,
    until: float | None = None,
    only: Sequence[str] = (),
    together: int = 1,
    watch: Watch | None = None,
) -> Board:
    """Run every cell that is not finished, and write the table after each.

    Args:
        sweep: what `read_sweep` gave.
        out: the folder of the sweep.
        device: "cpu", "cuda", ...
        workers: cells at a time; default: as many as there are cores or, by gpu_share, room on GPUs.
        ray: the address of a Ray cluster, or "local" to start one.
        gpu_share: the share of a GPU that a cell takes; default: all of it.
        retry_failed: also run the cells that failed before.
        until: seconds after which no cell is started and those under way save a checkpoint and end.
        only: patterns of names, such as "surefed-*-s0"; other cells are left as they are.
        together: up to so many cells run in one process: on a CPU those that learn the same local beliefs, and learn
            them once; on a GPU any, each on a stream of its own.
        watch: told what happens.

    Killing it, or any of its processes, loses nothing that is finished; the same call goes on.
    """
    if workers is not None and workers < 1:
        raise ConfigError(f"--workers is at least 1, not {workers}")
    if gpu_share is not None and not 0 < gpu_share <= 1:
        raise ConfigError(f"--gpu-share is a share of one GPU, above 0 and at most 1, not {gpu_share}")
    if together < 1:
        raise ConfigError(f"--together is at least 1, not {together}")
    if together > 1 and ray is not None:
        raise ConfigError("--together is for the processes of this machine; with --ray every cell runs by itself")
    path = Path(out)
    folder = Folder(path, sweep)
    folder.check()
    with alone(path):
        if retry_failed:
            for cell in sweep.named(only):
                folder.forgive(cell)
        board = Board.look(folder, only=only)
        drive = _Drive(folder, board, watch or (lambda board, said: None), until, together, device)
        if drive.queue:
            folder.write_grid(session(device))
            backend = _backend(path, sweep, device, workers, ray, gpu_share)
            board.size = min(backend.size, len(drive.queue))
            try:
                drive.play(backend)
            finally:
                backend.close()
                folder.write_table()
        else:
            folder.write_grid()
            folder.write_table()
    drive.conclude()
    return board


def _backend(
    folder: Path, sweep: Sweep, device: str, workers: int | None, ray: str | None, gpu_share: float | None
) -> Backend:
    if ray is not None:
        return Cluster(ray, folder, device, sweep.keep_beliefs, gpu_share=gpu_share or 1.0, size=workers)
    gpus = max(1, torch.cuda.device_count()) if device == "cuda" else 1
    return Processes(workers or default_size(sweep, device, gpu_share), device, sweep.keep_beliefs, gpus)


def default_size(sweep: Sweep, device: str, gpu_share: float | None) -> int:
    """Cells at a time on this machine: one a core or, on GPUs, as many as their share lets in."""
    gpus = max(1, torch.cuda.device_count()) if device == "cuda" else 1
    room = max(1, int(gpus / (gpu_share or 1.0) + 1e-9)) if device.startswith("cuda") else cores()
    return min(room, len(sweep.cells))


class _Drive:
    """The cells that are left, and what happens to them."""

    def __init__(
        self, folder: Folder, board: Board, watch: Watch, until: float | None, together: int, device: str
    ) -> None:
        self.folder, self.board, self.watch, self.together = folder, board, watch, together
        self.queue = deque(board.cells[name] for name in board.todo())
        self.deadline = None if until is None else time.monotonic() + until
        self.deaths: dict[str, int] = {}
        self.stopped_by = 0
        self._known: dict[str, str | None] = {}
        self._mixed = device.startswith("cuda")
        for name in board.named("finished"):
            folder.tidy(board.cells[name])

    def play(self, backend: Backend) -> None:
        """Start cells while there is room, and listen, until all are done or somebody says stop."""
        with _signals() as got:
            self.folder.write_table()
            while self.queue or self.board.named("running"):
                self._stop(backend, got())
                while self.queue and not self.stopped_by and len(self.board.bundles()) < backend.size:
                    self._start(backend, self._gather(backend.size))
                if self.stopped_by and not self.board.named("running"):
                    return
                event = backend.next(TICK)
                self.watch(self.board, None if event is None else self._take(event))

    def _stop(self, backend: Backend, signals: list[int]) -> None:
        """Stop if there is a reason to: a signal, or the time is up. A second signal does not wait for checkpoints."""
        if len(signals) > 1:
            raise Interrupted("at once; what was finished is kept, and the same command goes on", 128 + signals[0])
        late = self.deadline is not None and time.monotonic() >= self.deadline
        if self.stopped_by or not (signals or late):
            return
        self.stopped_by = 128 + signals[0] if signals else TIME_IS_UP
        self.watch(self.board, "stopping: cells under way save a checkpoint")
        backend.stop()

    def _gather(self, workers: int) -> list[Cell]:
        """The cell whose turn it is, and others that may share what it learns or, on a GPU, any, but not more than each
        worker's part.

        A cell whose process died is run by itself.
        """
        most = min(self.together, math.ceil(len(self.queue) / workers))
        first = self.queue.popleft()
        mine = self._likeness(first) if most > 1 else None
        if mine is None:
            return [first]
        others = (cell for cell in self.queue if self._likeness(cell) == mine)
        bundle = [first, *islice(others, most - 1)]
        names = {cell.name for cell in bundle}
        self.queue = deque(cell for cell in self.queue if cell.name not in names)
        return bundle

    def _likeness(self, cell: Cell) -> str | None:
        if cell.name in self.deaths:
            return None
        if cell.name not in self._known:
            self._known[cell.name] = "any" if self._mixed else likeness(cell.experiment)
        return self._known[cell.name]

    def _start(self, backend: Backend, cells: list[Cell]) -> None:
        self.board.start(*(cell.name for cell in cells))
        backend.start([(cell, self.folder.place(cell)) for cell in cells])
        self.folder.write_table(self.board.named("running"))
        for cell in cells:
            self.watch(self.board, f"{cell.name}: started")

    def _take(self, event: Event) -> str | None:
        """Note what happened, and put it in a sentence if it is more than progress."""
        cell, board = self.board.cells[event.cell], self.board
        if event.kind == "round":
            board.advance(cell.name, event.round)
            return None
        said = self._end(cell, event)
        self.folder.write_table(board.named("running"))
        return f"{cell.name}: {said}; {board.summary()}"

    def _end(self, cell: Cell, event: Event) -> str:
        board, kind, text = self.board, event.kind, event.text
        if kind == "died":
            self.deaths[cell.name] = self.deaths.get(cell.name, 0) + 1
            if self.deaths[cell.name] < ATTEMPTS:
                board.status[cell.name] = "interrupted"
                self.queue.appendleft(cell)
                return f"{_last_line(text)}; it is tried again"
            kind, text = "failed", f"{text}\nit died {ATTEMPTS} times; is there enough memory for fewer workers?"
        if kind == "finished":
            self.folder.forgive(cell)
            row = self.folder.row(cell)
            board.status[cell.name], board.round[cell.name] = "finished", row["round"]
            return f"finished in {duration(row['seconds'])}{_figures(row)}"
        if kind == "failed":
            self.folder.fail(cell, text)
            board.status[cell.name] = "failed"
            return f"failed: {_last_line(text)}"
        row = self.folder.row(cell)
        board.status[cell.name], board.round[cell.name] = row["status"], row["round"]
        return f"stopped after round {row['round']} of {row['rounds']} or later"

    def conclude(self) -> None:
        """Say what is not done, if anything."""
        count, total = self.board.count(), len(self.board.status)
        if self.stopped_by:
            why = "the time is up" if self.stopped_by == TIME_IS_UP else "you asked for it"
            raise Interrupted(
                f"because {why}: {count['finished']} of {total} cells are finished, {count['interrupted']} saved on "
                f"their way; the same command goes on (table: {self.folder.path / 'cells.csv'})",
                self.stopped_by,
            )
        if count["failed"]:
            raise CellsFailed(_failures(self.folder, self.board))


def _failures(folder: Folder, board: Board) -> str:
    """The cells that failed, those with the same error together."""
    causes: dict[str, list[str]] = {}
    for name in board.named("failed"):
        causes.setdefault(_last_line(folder.error(board.cells[name]) or ""), []).append(name)
    lines = [f"{', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}: {cause}"
             for cause, names in causes.items()]  # fmt: skip
    return (
        f"{len(board.named('failed'))} of {len(board.status)} cells failed; whole errors are in "
        f"{folder.path / 'errors'}, --retry-failed tries again\n" + "\n".join(lines)
    )


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason was given"])[-1]


def _figures(row: dict[str, Any]) -> str:
    """The figures of a finished cell in a few words."""
    words = [
        f"{name} {100 * row[key]:.1f} %"
        for key, name in (("accuracy", "accuracy"), ("r2", "R2"), ("worst", "worst"), ("backdoor", "backdoor"))
        if row[key] is not None
    ]
    shares = [f"{100 * row[key]:.0f}" if row[key] is not None else "-" for key in ("trusts_honest", "trusts_malicious")]
    return ": " + ", ".join([*words, f"trusts {'/'.join(shares)} % of honest/malicious"])


@contextmanager
def _signals() -> Iterator[Callable[[], list[int]]]:
    """Collect SIGINT and SIGTERM instead of dying of them."""
    got: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: got
        return

    def note(number: int, frame: FrameType | None) -> None:
        got.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: got
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
