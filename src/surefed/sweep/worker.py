"""A process that runs cells one after another, or several together: orders come in as lines of JSON, each a list of
cells, and what happens goes out the same way.

It stops, after saving a checkpoint, when its input ends: so no worker outlives its driver.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from surefed.core import Interrupted, SureFEDError
from surefed.records import CHECKPOINT, storage
from surefed.sim import Experiment, run_together

Tell = Callable[[dict[str, Any]], None]
PAUSE = 0.5
"""Seconds between reports of progress."""


def play(orders: Sequence[dict[str, Any]], tell: Tell, stop: Callable[[], bool] = lambda: False) -> bool:
    """Run cells, together if they are several, and tell how each ended; whether the process may run more of them.

    stop: asked after rounds, whether to save checkpoints and end.
    """
    bundle, experiments = _Bundle(orders, tell, stop), {}
    for place, order in list(bundle.orders.items()):
        try:
            experiments[place] = Experiment.of(order["experiment"])
        except Exception as error:  # a cell may fail in any way, and the others go on
            bundle.end(place, error)
    with suppress(Interrupted):  # each cell was told of
        device = orders[0]["device"]
        run_together(experiments, resume=True, device=device, watch=bundle.watch, ended=bundle.end)
    for place in list(bundle.orders):  # it was too late to begin them
        bundle.end(place, Interrupted("before it began"))
    return bundle.sound


class _Bundle:
    """Cells that are run in one go, and what is told of them.

    orders: of the cells that have not ended. sound: whether nothing has happened that might harm whatever runs here.
    """

    def __init__(self, orders: Sequence[dict[str, Any]], tell: Tell, stop: Callable[[], bool]) -> None:
        self.orders = {Path(order["place"]): order for order in orders}
        self.tell, self.stop, self.sound, self.several = tell, stop, True, len(orders) > 1
        self._due = dict.fromkeys(self.orders, 0.0)
        self._broken = self._stopping = False

    def watch(self, place: Path, round: int, figures: dict[str, Any] | None) -> None:
        """Report progress, now and then."""
        if (now := time.monotonic()) >= self._due[place]:
            self._due[place] = now + PAUSE
            self.tell({"cell": self.orders[place]["cell"], "kind": "round", "round": round})
            if self.stop():
                self._halt()

    def end(self, place: Path, error: Exception | None) -> None:
        """Tell how a cell ended. What fails in an unforeseen way may have harmed the others: they save, and end too."""
        order = self.orders.pop(place)
        if error is None and not order["keep_beliefs"]:
            error = _dropped(place)
        self.tell({"cell": order["cell"], **self._how(error)})
        if self._broken and self.orders:
            self._halt()

    def _how(self, error: Exception | None) -> dict[str, Any]:
        if error is None:
            return {"kind": "finished"}
        if self._broken:
            return {"kind": "died", "text": "a cell that it ran together with failed"}
        if isinstance(error, Interrupted):
            self.sound = False
            return {"kind": "interrupted"}
        if isinstance(error, SureFEDError):
            return {"kind": "failed", "text": str(error)}
        self.sound, self._broken = False, True
        text = "".join(traceback.format_exception(error))
        if self.several:  # the others may be why, by the memory they take
            return {"kind": "died", "text": text}
        return {"kind": "failed", "text": text, "unexpected": True}

    def _halt(self) -> None:
        if not self._stopping:
            self._stopping = True
            signal.raise_signal(signal.SIGTERM)  # the runs take it as they take Ctrl-C: they save, then end


def _dropped(place: Path) -> SureFEDError | None:
    """Delete a finished cell's checkpoint, or say what is in the way."""
    try:
        with storage(place):
            (place / CHECKPOINT).unlink(missing_ok=True)
    except SureFEDError as error:
        return error
    return None


def main() -> None:
    """Do what standard input asks for, until it ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a model of somebody's prints is no message
    logging.getLogger("surefed").setLevel(logging.ERROR)  # notices are in the records
    orders: queue.Queue[list[dict[str, Any]]] = queue.Queue()
    playing, gone = threading.Event(), threading.Event()
    threading.Thread(target=_listen, args=(orders, playing, gone), daemon=True).start()

    def tell(message: dict[str, Any]) -> None:
        if message["kind"] == "round":
            playing.set()
        with suppress(OSError):  # nobody listens any more; what is under way is saved all the same
            print(json.dumps(message), file=out, flush=True)

    while True:
        if not play(orders.get(), tell, gone.is_set):
            sys.exit(1)  # whatever was left broken ends with the process
        playing.clear()
        if gone.is_set():  # the input ended in the last rounds of a run, too late for it to stop
            sys.exit(0)
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _listen(orders: queue.Queue[list[dict[str, Any]]], playing: threading.Event, gone: threading.Event) -> None:
    """Take orders; at their end, a run that is under way saves and ends, and everything else ends at once."""
    for line in sys.stdin:
        orders.put(json.loads(line))
    gone.set()
    if not playing.is_set():
        os._exit(0)


if __name__ == "__main__":
    main()
