"""Cells on a Ray cluster, each with its share of a GPU; the folder of the sweep must be one that all machines see."""

from __future__ import annotations

import importlib
import json
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from surefed.core import ConfigError
from surefed.sweep.events import Bundle, Event, order

STOP = ".stop"
"""While this file is in the sweep's folder, running cells save a checkpoint and end."""
STARTS = 2
"""How often a cluster on this machine may be begun: beside other work the first start can take too long for Ray."""


class Cluster:
    """A Ray cluster, or one that is started here and ends with the sweep."""

    def __init__(
        self, address: str, folder: Path, device: str, keep_beliefs: bool, *, gpu_share: float, size: int | None
    ) -> None:
        self.ray = _ray()
        self.device, self.keep_beliefs, self.stopper = device, keep_beliefs, folder.absolute() / STOP
        self.stopper.unlink(missing_ok=True)
        self._join(address)
        on_gpu = device.startswith("cuda")
        has = self.ray.cluster_resources()
        room = int(has.get("GPU", 0) / gpu_share + 1e-9) if on_gpu else int(has.get("CPU", 1))
        if room < 1:
            self.ray.shutdown()
            raise ConfigError(f"the Ray cluster at {address!r} has no GPU; use --device cpu, or another cluster")
        self.size = min(room, size or room)
        self._remote = self.ray.remote(num_cpus=1, num_gpus=gpu_share if on_gpu else 0, max_retries=0)(_play)
        self._running: dict[Any, tuple[str, Path]] = {}
        self._seen: dict[str, int] = {}

    def _join(self, address: str) -> None:
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # cells on CPUs see GPUs and leave them alone
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody outside is told
        given: dict[str, Any] = {"include_dashboard": False} if address == "local" else {"address": address}
        for left in reversed(range(STARTS if address == "local" else 1)):
            try:
                self.ray.init(**given, logging_level=logging.ERROR, log_to_driver=False)
                return
            except (ConnectionError, ValueError, RuntimeError) as error:
                reason = str(error).splitlines()[0]
                raise ConfigError(
                    f"cannot reach a Ray cluster at {address!r} ({reason}); `--ray local` starts one"
                ) from error
            except Exception as error:  # Ray has no type for a start that took more than the 30 s it waits
                self.ray.shutdown()
                if not left:
                    raise ConfigError(
                        f"Ray did not start ({str(error).strip()}); try again when the machine has less to do, or go "
                        "without --ray: cells then run in processes of this machine"
                    ) from error

    def start(self, bundle: Bundle) -> None:
        """Hand a cell to the cluster; bundles are of one."""
        ((cell, place),) = bundle
        what = order(cell, place.absolute(), self.device, self.keep_beliefs)
        self._running[self._remote.remote(json.dumps(what), str(self.stopper))] = (cell.name, place)

    def next(self, timeout: float) -> Event | None:
        """The next cell that ended; else, now and then, the progress of one that runs."""
        done, _ = self.ray.wait(list(self._running), timeout=timeout) if self._running else ([], [])
        if not done:
            return self._progress()
        name, _ = self._running.pop(done[0])
        try:
            end = json.loads(self.ray.get(done[0]))
        except self.ray.exceptions.RayError as error:
            return Event(name, "died", text=f"Ray: {str(error).strip()}")
        return Event(name, end["kind"], text=end.get("text", ""))

    def _progress(self) -> Event | None:
        """The round that a record has reached since it was last looked at."""
        for name, place in self._running.values():
            lines = place / "rounds.jsonl"
            with suppress(OSError, ValueError, IndexError, KeyError):
                reached = int(json.loads(lines.read_bytes().split(b"\n")[-2])["round"])
                if reached > self._seen.get(name, 0):
                    self._seen[name] = reached
                    return Event(name, "round", reached)
        return None

    def stop(self) -> None:
        """Ask every cell to save a checkpoint and end."""
        self.stopper.touch()

    def close(self) -> None:
        """Leave the cluster, which ends what still runs."""
        self.ray.shutdown()
        self.stopper.unlink(missing_ok=True)


def _play(given: str, stopper: str) -> str:
    """Run a cell in a process of the cluster."""
    from surefed.sweep.worker import play

    told: list[dict[str, Any]] = []
    play([json.loads(given)], told.append, Path(stopper).exists)
    return json.dumps(told[-1])


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ConfigError("--ray needs Ray: pip install 'surefed[cluster]'") from error
