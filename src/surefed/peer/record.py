"""What a peer leaves behind: a run's folder with a line per round, the events between them, and the state right now."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from surefed.core import StorageError
from surefed.core.versions import versions
from surefed.peer.charter import Charter
from surefed.peer.lone import Lone
from surefed.records import Recorder, storage
from surefed.records.folder import ROUNDS, TIMING
from surefed.sim import toml

STATUS, EVENTS = "peer.json", "events.jsonl"


class PeerRecord:
    """Writes a peer's folder. A line that does not fit on the disk leaves no torn half behind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._recorder = Recorder(folder)

    def begin(self, lone: Lone, charter: Charter, identity: str) -> None:
        """Start a record, or go on with one after the rounds that were saved."""
        if not self._recorder.begun:
            self._recorder.begin(toml.write(lone.setup.experiment), _about(lone, charter, identity))
        self._recorder.rewind(lone.round)

    def round(self, line: Mapping[str, Any], timing: Mapping[str, Any]) -> None:
        """Add a round: both lines, or neither."""
        sizes = [_append(self.folder / ROUNDS, line)]
        try:
            _append(self.folder / TIMING, timing)
        except StorageError:
            os.truncate(self.folder / ROUNDS, sizes[0])
            raise

    def event(self, round: int, kind: str, text: str, site: str | None = None) -> None:
        """Add an event; one that does not fit on the disk is lost."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            _append(self.folder / EVENTS, {"round": round, "at": at, "kind": kind, "site": site, "text": text})
        except StorageError:
            return

    def status(self, values: Mapping[str, Any]) -> None:
        """Replace the state as of now; if there is no room, the old one stays."""
        path = self.folder / STATUS
        fresh = path.with_name(f".{STATUS}.new")
        try:
            fresh.write_text(json.dumps(values, allow_nan=False))
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write the final figures."""
        self._recorder.finish(result)


def _append(path: Path, values: Mapping[str, Any]) -> int:
    """Add a line at the end of a file; how long the file was before."""
    line = json.dumps(values, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    with storage(path), path.open("ab", buffering=0) as file:
        before = file.seek(0, os.SEEK_END)
        try:
            if file.write(line) != len(line):
                raise OSError(28, "No space left on device")
            os.fsync(file.fileno())
        except OSError:
            file.truncate(before)
            raise
    return before


def _about(lone: Lone, charter: Charter, identity: str) -> dict[str, Any]:
    """Where and with what a peer runs, in the words of the simulator's records."""
    network = lone.setup.network
    return {
        "kind": "peer",
        "site": lone.site,
        "federation": charter.name,
        "charter": charter.digest,
        "identity": identity,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": f"cpu: {platform.machine()}",
        "weights": network.weights,
        "clients": list(lone.sites),
        "malicious": [],
        "bound": lone.setup.rule.bound,
        "layers": dict(zip(network.names, network.sizes, strict=True)),
        "notices": [],
        "versions": versions(),
    }


def read_status(folder: Path) -> dict[str, Any] | None:
    """The state that a peer left in its folder; None if it has none yet."""
    try:
        values: dict[str, Any] = json.loads((folder / STATUS).read_text())
    except (OSError, ValueError):
        return None
    return values
