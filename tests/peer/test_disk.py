"""What cannot be written is tried again until there is room, and a stop ends the waiting."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from surefed.core import StorageError
from surefed.peer.disk import Disk, Stopped


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefed.peer.disk.WAIT", 0.001)


def test_it_tells_once_that_it_pauses_and_once_that_it_goes_on(tmp_path: Path) -> None:
    told: list[bool] = []
    disk = Disk(tmp_path, 0, threading.Event(), lambda paused, text: told.append(paused))
    left = [StorageError("full")] * 3

    def write() -> None:
        if left:
            raise left.pop()

    disk.write(write)
    assert told == [True, False]
    disk.write(write)
    assert told == [True, False]


def test_a_stop_ends_the_pause(tmp_path: Path) -> None:
    stop = threading.Event()
    disk = Disk(tmp_path, 1 << 62, stop, lambda paused, text: stop.set())
    with pytest.raises(Stopped):
        disk.wait_for_room()
