"""A process that runs cells one after another: orders come in as lines of JSON, what happens goes out the same way.

It stops, after saving a checkpoint, when its input ends: so no worker outlives its driver.
"""

from __future__ import annotations

import gc
import json
import logging
import math
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from surefed.core import Interrupted, SureFEDError
from surefed.records import CHECKPOINT, storage
from surefed.sim import Experiment, run

Tell = Callable[[dict[str, Any]], None]
PAUSE = 0.5
"""Seconds between reports of progress."""


def play(order: dict[str, Any], tell: Tell, stop: Callable[[], bool] = lambda: False) -> dict[str, Any]:
    """Run one cell and say how it ended; stop: asked after rounds, whether to save a checkpoint and end."""
    place, due = Path(order["place"]), 0.0

    def watch(round: int, figures: dict[str, Any] | None) -> None:
        nonlocal due
        if (now := time.monotonic()) >= due:
            due = now + PAUSE
            tell({"kind": "round", "round": round})
            if stop():
                due = math.inf
                signal.raise_signal(signal.SIGTERM)  # the run takes it as it takes Ctrl-C: it saves, then ends

    try:
        experiment, begun = Experiment.of(order["experiment"]), (place / "run.json").exists()
        run(experiment, out=place, resume=begun, device=order["device"], watch=watch)
        if not order["keep_beliefs"]:
            with storage(place):
                (place / CHECKPOINT).unlink(missing_ok=True)
    except Interrupted:
        return {"kind": "interrupted"}
    except SureFEDError as error:
        return {"kind": "failed", "text": str(error)}
    except Exception:  # a cell may fail in any way, and the others go on
        return {"kind": "failed", "text": traceback.format_exc(), "unexpected": True}
    return {"kind": "finished"}


def main() -> None:
    """Do what standard input asks for, until it ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a model of somebody's prints is no message
    logging.getLogger("surefed").setLevel(logging.ERROR)  # notices are in the records
    orders: queue.Queue[dict[str, Any]] = queue.Queue()
    playing, gone = threading.Event(), threading.Event()
    threading.Thread(target=_listen, args=(orders, playing, gone), daemon=True).start()

    def tell(message: dict[str, Any]) -> None:
        if message["kind"] == "round":
            playing.set()
        with suppress(OSError):  # nobody listens any more; what is under way is saved all the same
            print(json.dumps(message), file=out, flush=True)

    while True:
        end = play(orders.get(), tell, gone.is_set)
        tell(end)
        if end.get("unexpected") or end["kind"] == "interrupted":
            sys.exit(1)  # whatever was left broken ends with the process
        playing.clear()
        if gone.is_set():  # the input ended in the last rounds of a run, too late for it to stop
            sys.exit(0)
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _listen(orders: queue.Queue[dict[str, Any]], playing: threading.Event, gone: threading.Event) -> None:
    """Take orders; at their end, a run that is under way saves and ends, and everything else ends at once."""
    for line in sys.stdin:
        orders.put(json.loads(line))
    gone.set()
    if not playing.is_set():
        os._exit(0)


if __name__ == "__main__":
    main()
