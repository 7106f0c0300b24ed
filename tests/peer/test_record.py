"""A line that does not fit on the disk leaves no torn half behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from surefed.core import StorageError
from surefed.peer.lone import Lone
from surefed.peer.record import PeerRecord, read_status
from surefed.records import read
from tests.peer.federations import trial


def test_both_lines_of_a_round_are_there_or_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = trial(tmp_path)
    record, right, calls = PeerRecord(tmp_path / "record"), os.fsync, 0
    record.begin(Lone(made.charter, "anna", made.data("anna")), made.charter, "me")
    record.round({"round": 1}, {"round": 1})

    def full(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:  # the second line of the round
            raise OSError(28, "No space left on device")
        right(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        record.round({"round": 2}, {"round": 2})
    found = read(tmp_path / "record")
    assert [line["round"] for line in found.rounds] == [1]
    assert [line["round"] for line in found.timing] == [1]
    record.round({"round": 2}, {"round": 2})
    assert [line["round"] for line in read(tmp_path / "record").rounds] == [1, 2]


def test_what_was_written_after_the_saved_round_is_written_anew(tmp_path: Path) -> None:
    made = trial(tmp_path)
    lone: Any = Lone(made.charter, "anna", made.data("anna"))
    record = PeerRecord(tmp_path / "record")
    record.begin(lone, made.charter, "me")
    for number in (1, 2, 3):
        record.round({"round": number}, {"round": number})
    lone.world.round = 2
    record.begin(lone, made.charter, "me")
    assert [line["round"] for line in read(tmp_path / "record").rounds] == [1, 2]


def test_a_status_that_is_not_there_is_none(tmp_path: Path) -> None:
    record = PeerRecord(tmp_path)
    assert read_status(tmp_path) is None
    record.status({"round": 3})
    assert read_status(tmp_path) == {"round": 3}
