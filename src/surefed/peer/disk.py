"""A full disk pauses learning, not the process: what cannot be written is tried again until there is room."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from surefed.core import StorageError

MIB = 1 << 20
WAIT = 1.0
"""Seconds between looks at a full disk."""

Tell = Callable[[bool, str], None]
"""(whether learning pauses, in words), told when it begins to pause and when it goes on."""


class Stopped(Exception):
    """The peer was asked to stop; all whole rounds are saved."""


class Disk:
    """Where a peer writes.

    least: bytes that must be free before a round is begun. stop: set when the peer shall end, which ends a pause.
    """

    def __init__(self, folder: Path, least: int, stop: threading.Event, tell: Tell) -> None:
        self.folder, self.paused = folder, False
        self._least, self._stop, self._tell = least, stop, tell

    @property
    def free(self) -> int:
        """Bytes that are free."""
        return shutil.disk_usage(self.folder).free

    def wait_for_room(self) -> None:
        """Return once as much is free as must be."""
        while (free := self.free) < self._least:
            self._pause(
                f"{free / MIB:.0f} MiB are free on the disk of {self.folder}, {self._least / MIB:.0f} are needed"
            )
        self._go_on()

    def write(self, write: Callable[[], None]) -> None:
        """Write; while that fails, wait and try again."""
        while True:
            try:
                write()
            except StorageError as error:
                self._pause(str(error))
            else:
                self._go_on()
                return

    def _pause(self, why: str) -> None:
        if not self.paused:
            self.paused = True
            self._tell(True, f"learning pauses: {why}")
        if self._stop.wait(WAIT):
            raise Stopped

    def _go_on(self) -> None:
        if self.paused:
            self.paused = False
            self._tell(False, "there is room again, learning goes on")
