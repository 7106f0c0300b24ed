"""Cells in processes of their own on this machine; a process that dies is replaced."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from contextlib import suppress
from typing import IO, Any

from surefed.sweep.events import Bundle, Event, order

TAIL = 2000
"""Letters of a dead worker's last words that are kept."""


class _Worker:
    """One process, and the cells it is at; worn: it ends with them."""

    def __init__(self, threads: int, messages: queue.Queue[tuple[_Worker, dict[str, Any] | None]]) -> None:
        self.cells: set[str] = set()
        self.worn = False
        self.words: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, closed in end()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "surefed.sweep.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.words,
            text=True,
            env={"OMP_NUM_THREADS": str(threads), **os.environ},
            start_new_session=True,  # Ctrl-C is the driver's; it tells the workers itself
        )
        self._reader = threading.Thread(target=self._read, args=(messages,), daemon=True)
        self._reader.start()

    def _read(self, messages: queue.Queue[tuple[_Worker, dict[str, Any] | None]]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with suppress(ValueError):  # a line that death cut short
                messages.put((self, json.loads(line)))
        messages.put((self, None))

    def send(self, orders: list[dict[str, Any]]) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # it is dead, and its reader will say so
            self.process.stdin.write(json.dumps(orders) + "\n")
            self.process.stdin.flush()

    def hang_up(self) -> None:
        """End its input, which asks it to stop."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()

    def last_words(self) -> str:
        """How the process ended, and the end of what it wrote to standard error."""
        code = self.process.wait()
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        self.words.seek(0)
        said = self.words.read().decode(errors="replace").strip()[-TAIL:]
        return f"{said}\nits process was {how}".strip()

    def end(self) -> None:
        """End the process and everything it held."""
        self.hang_up()
        if self.process.poll() is None and self.cells:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.words.close()


class Processes:
    """So many processes on this machine, each with its share of the cores."""

    def __init__(self, size: int, device: str, keep_beliefs: bool, gpus: int = 1) -> None:
        self.size, self.device, self.keep_beliefs, self.gpus = size, device, keep_beliefs, gpus
        self.threads = max(1, cores() // size)
        self.stopping = False
        self._messages: queue.Queue[tuple[_Worker, dict[str, Any] | None]] = queue.Queue()
        self._workers: list[_Worker | None] = [None] * size
        self._deaths: deque[Event] = deque()

    def start(self, bundle: Bundle) -> None:
        """Give cells to an idle process."""
        at = next(at for at, worker in enumerate(self._workers) if worker is None or not worker.cells)
        worker = self._workers[at] = self._workers[at] or _Worker(self.threads, self._messages)
        worker.cells = {cell.name for cell, _ in bundle}
        device = f"cuda:{at % self.gpus}" if self.device == "cuda" and self.gpus > 1 else self.device
        worker.send([order(cell, place.absolute(), device, self.keep_beliefs) for cell, place in bundle])

    def next(self, timeout: float) -> Event | None:
        """The next message of any process."""
        if self._deaths:
            return self._deaths.popleft()
        try:
            worker, message = self._messages.get(timeout=timeout)
        except queue.Empty:
            return None
        if message is None:
            self._dead(worker)
            return self._deaths.popleft() if self._deaths else None
        if message["cell"] not in worker.cells:
            return None
        event = Event(message["cell"], message["kind"], message.get("round", 0), message.get("text", ""))
        if event.kind != "round":
            worker.cells.discard(event.cell)
            worker.worn |= message.get("unexpected", False) or event.kind in ("interrupted", "died")
            if worker.worn and not worker.cells:
                self._forget(worker)
        return event

    def _dead(self, worker: _Worker) -> None:
        """What becomes of the cells of a process that has ended."""
        cells, said = sorted(worker.cells), "" if worker not in self._workers else worker.last_words()
        self._forget(worker)
        for cell in cells:
            self._deaths.append(Event(cell, "interrupted") if self.stopping else Event(cell, "died", text=said))

    def _forget(self, worker: _Worker) -> None:
        if worker in self._workers:
            self._workers[self._workers.index(worker)] = None
            worker.cells = set()
            worker.end()

    def stop(self) -> None:
        """Ask every process to save a checkpoint and end."""
        self.stopping = True
        for worker in self._workers:
            if worker is not None:
                worker.hang_up()

    def close(self) -> None:
        """End every process, at once if it is at work."""
        for worker in self._workers:
            if worker is not None:
                worker.end()
        self._workers = [None] * self.size


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
