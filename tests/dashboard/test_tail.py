from __future__ import annotations

import json
import math
from pathlib import Path

from surefed.dashboard.tail import Tail, flatten, parsed


def lines(*rounds: int) -> str:
    return "".join(json.dumps({"round": round, "a": {"b": round / 10}}) + "\n" for round in rounds)


def test_a_file_that_is_not_there_has_no_rounds(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "rounds.jsonl").read()
    assert tail.rounds == []
    assert tail.last == {}


def test_lines_are_read_as_they_come_and_a_torn_one_waits_for_its_rest(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    text = lines(1, 2, 3)
    tail = Tail(path)
    for end in range(len(text) + 1):
        path.write_text(text[:end])
        assert tail.read().rounds == list(range(1, 1 + text[:end].count("\n")))
    assert tail.read().columns["a.b"] == [0.1, 0.2, 0.3]
    assert tail.read().last == {"round": 3.0, "a.b": 0.3}


def test_what_was_read_does_not_change_when_the_file_does(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    path.write_text(lines(1, 2))
    tail = Tail(path)
    before = tail.read()
    path.write_text(lines(1, 2, 3))
    assert tail.read().rounds == [1, 2, 3]
    assert before.rounds == [1, 2]
    assert before.columns["a.b"] == [0.1, 0.2]
    assert tail.read() is tail.read()  # nothing is copied while nothing comes


def test_a_file_cut_or_replaced_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    path.write_text(lines(1, 2, 3))
    tail = Tail(path)
    assert tail.read().rounds == [1, 2, 3]
    path.write_text(lines(1, 2))  # rewound
    assert tail.read().rounds == [1, 2]
    path.write_text(lines(1, 7, 8, 9))  # rewritten in place, and longer
    assert tail.read().rounds == [1, 7, 8, 9]
    other = tmp_path / "other"
    other.write_text(lines(5, 7, 8, 9, 10))
    other.replace(path)
    assert tail.read().rounds == [5, 7, 8, 9, 10]
    path.unlink()
    assert tail.read().rounds == []


def test_a_damaged_line_ends_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    path.write_text(lines(1) + "no json\n" + lines(3))
    assert Tail(path).read().rounds == [1]


def test_figures_that_come_late_or_stop_are_missing_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    path.write_text('{"round": 1, "x": 1}\n{"round": 2, "y": 2}\n{"round": 3, "x": null}\n')
    columns = Tail(path).read().columns
    assert columns["x"][0] == 1
    assert math.isnan(columns["x"][1])
    assert math.isnan(columns["x"][2])
    assert math.isnan(columns["y"][0])
    assert columns["y"][1] == 2


def test_what_is_no_round_is_no_line() -> None:
    for text in (b"", b"[]", b"7", b'{"round": "1"}', b'{"round": true}', b'{"round": -1}', b"[" * 100_000, b"\xff"):
        assert parsed(text) is None


def test_only_finite_numbers_are_figures() -> None:
    line = {"round": 1, "name": "x", "flag": True, "list": [1], "big": 1e301, "nan": math.nan, "in": {"ner": 2}}
    values: dict[str, float] = {}
    flatten(line, "", values)
    assert values == {"round": 1.0, "in.ner": 2.0}
