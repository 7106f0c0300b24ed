from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from surefed.core import RecordError, StorageError
from surefed.records import Recorder, read, replace_file, write_text

EXPERIMENT = 'rounds = 3\n[rule]\nname = "surefed"\n[attack]\nname = "none"\n'


def recorder(folder: Path) -> Recorder:
    made = Recorder(folder)
    made.begin(EXPERIMENT, {"identity": "x", "clients": ["0"], "malicious": []})
    return made


def test_what_is_written_is_read(tmp_path: Path) -> None:
    made = recorder(tmp_path / "run")
    made.round({"round": 1, "accuracy": 0.5}, {"round": 1, "rounds": 0.1})
    made.trust(1, {"trusted": np.eye(2, dtype=bool)})
    assert not read(tmp_path / "run").finished
    made.finish({"rounds": 1})
    record = read(tmp_path / "run")
    assert record.experiment["rule"]["name"] == "surefed"
    assert record.last == {"round": 1, "accuracy": 0.5}
    assert record.timing == [{"round": 1, "rounds": 0.1}]
    assert record.trust(1)["trusted"].tolist() == [[True, False], [False, True]]
    assert record.result == {"rounds": 1}


def test_rewinding_forgets_what_came_later(tmp_path: Path) -> None:
    made = recorder(tmp_path / "run")
    for round in (1, 2, 3):
        made.round({"round": round}, {"round": round})
        made.trust(round, {"trusted": np.eye(1, dtype=bool)})
    made.rewind(2)
    record = read(tmp_path / "run")
    assert [line["round"] for line in record.rounds] == [line["round"] for line in record.timing] == [1, 2]
    assert record.trust_rounds() == [1, 2]


def test_a_folder_that_is_no_run_or_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not the folder of a run"):
        read(tmp_path)
    made = recorder(tmp_path / "run")
    with pytest.raises(RecordError, match="no evaluated round"):
        _ = read(made.path).last
    with pytest.raises(RecordError, match="no snapshot of round 7"):
        read(made.path).trust(7)
    made.trust(1, {"trusted": np.eye(2, dtype=bool)})
    path = made.path / "trust" / "000001.npz"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(RecordError, match="damaged"):
        read(made.path).trust(1)
    (made.path / "run.json").write_text("{")
    with pytest.raises(RecordError, match="damaged"):
        read(made.path)


def test_pickled_objects_are_neither_written_nor_read(tmp_path: Path) -> None:
    made = recorder(tmp_path / "run")
    with pytest.raises(ValueError, match="pickle"):
        made.trust(1, {"trusted": np.array([{}], dtype=object)})
    (made.path / "trust").mkdir(exist_ok=True)
    np.savez(made.path / "trust" / "000002.npz", trusted=np.array([{}], dtype=object))
    with pytest.raises(RecordError, match="damaged"):
        read(made.path).trust(2)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_text(path, "old")

    def fail(fresh: Path) -> None:
        fresh.write_text("half of the ne")
        raise OSError(28, os.strerror(28))

    with pytest.raises(StorageError, match="No space left"):
        replace_file(path, fail)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_not_a_number_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        recorder(tmp_path / "run").round({"round": 1, "accuracy": float("nan")}, {"round": 1})
