from __future__ import annotations

import csv
import io
import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefed.dashboard import pairs
from surefed.dashboard.app import application
from tests.dashboard.client import Client
from tests.dashboard.records import arrays, begin, headed, parted, peer, play


def client(*paths: Path) -> Client:
    return Client(application(paths))


def ask(at: Client, path: str, **values: Any) -> dict[str, Any]:
    answer = at.get(path, params=values)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def table(at: Client, view: str, **values: Any) -> list[dict[str, str]]:
    answer = at.get(f"/csv/{view}", params=values)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_runs_are_found_and_told_in_brief(tmp_path: Path) -> None:
    parted(tmp_path / "one")
    begin(tmp_path / "deep" / "two", rule="krum")
    runs = {run["id"]: run for run in ask(client(tmp_path), "/api/runs")["runs"]}
    one, two = runs[f"{tmp_path.name}/one"], runs[f"{tmp_path.name}/deep/two"]
    assert (one["rule"], one["attack"], one["clients"], one["malicious"]) == ("surefed", "label_flip", 5, 2)
    assert (one["round"], one["rounds"], one["status"]) == (40, 40, "finished")
    assert one["figures"] == {
        "measure": "accuracy", "mean": 0.9, "worst": 0.45, "backdoor": None, "honest": 1.0, "malicious": 0.0,
    }  # fmt: skip
    assert (two["round"], two["status"]) == (0, "waiting")


def test_a_run_is_told_whole(tmp_path: Path) -> None:
    parted(tmp_path / "one")
    run = ask(client(tmp_path / "one"), "/api/run", id="one")
    assert run["names"] == ["0", "1", "2", "3", "4"]
    assert run["bad"] == [False, False, False, True, True]
    assert run["snapshots"] == [1, 10, 20, 30, 40]
    assert run["layers"] == [["1.weight", 6], ["1.bias", 4]]
    assert run["kappa"] == 16.0


def test_curves_are_every_round_or_say_that_they_are_not(tmp_path: Path) -> None:
    made = parted(tmp_path / "one")
    (told,) = ask(client(tmp_path), "/api/curves", id=f"{tmp_path.name}/one")["runs"]
    assert told["series"]["accuracy.mean"] == {"x": [1, 10, 20, 30, 40], "y": [0.2, 0.7, 0.4, 0.8, 0.9]}
    assert not told["thinned"]
    with (made.path / "rounds.jsonl").open("a") as file:
        for round in range(41, 3041):
            file.write(
                json.dumps({"round": round, "accuracy": {"mean": 0.5 + (round == 999) / 4, "worst": 0.1}}) + "\n"
            )
    (told,) = ask(client(tmp_path), "/api/curves", id=f"{tmp_path.name}/one")["runs"]
    assert told["thinned"]
    assert (told["evaluated"], told["points"]) == (3005, 500)
    curve = told["series"]["accuracy.mean"]
    assert len(curve["x"]) <= 500
    assert curve["y"][curve["x"].index(999)] == 0.75  # the one peak is still there
    assert len(table(client(tmp_path), "curves", id=f"{tmp_path.name}/one")) == 3005


def test_a_snapshot_is_every_pair(tmp_path: Path) -> None:
    parted(tmp_path / "one")
    told = ask(client(tmp_path / "one"), "/api/trust", id="one", round=40)
    states = np.frombuffer(b64decode(told["states"]), np.uint8).reshape(5, 5)
    assert states.tolist() == np.where(arrays(apart=True)["trusted"], 2, 1).tolist()
    # three honest, two malicious, self left out: 3 x 2 honest pairs, all trusted; 3 x 2 across, none
    assert told["flows"] == {
        "honest-honest": [6, 6], "honest-malicious": [0, 6], "malicious-honest": [0, 6], "malicious-malicious": [2, 2],
    }  # fmt: skip
    rows = table(client(tmp_path / "one"), "trust", id="one", round=40)
    assert len(rows) == 25
    (row,) = (row for row in rows if (row["receiver"], row["sender"]) == ("0", "4"))
    assert (row["trusted"], row["outside"], row["worst"], row["layer"], row["sigmas"]) == (
        "0",
        "4.0",
        "8.0",
        "1.bias",
        "20.0",
    )


@pytest.mark.parametrize(
    ("fault", "word"), [(1, "another way"), (2, "against us"), (3, "outside"), (4, "far ahead"), (5, "another camp")]
)
def test_headings_and_faults_are_told(tmp_path: Path, fault: int, word: str) -> None:
    headed(tmp_path / "one", fault)
    told = ask(client(tmp_path / "one"), "/api/edge", id="one", receiver=0, sender=4)
    assert (told["heading"], told["fault"]) == ([0.75, -0.25], [0, fault])
    rows = table(client(tmp_path / "one"), "edge", id="one", receiver=0, sender=4)
    assert [(row["heading"], row["fault"]) for row in rows] == [("0.75", ""), ("-0.25", word)]
    (row,) = (
        row
        for row in table(client(tmp_path / "one"), "trust", id="one", round=40)
        if (row["receiver"], row["sender"]) == ("0", "4")
    )
    assert (row["heading"], row["fault"]) == ("-0.25", word)


def test_all_rounds_together_are_shares(tmp_path: Path) -> None:
    parted(tmp_path / "one")
    told = ask(client(tmp_path / "one"), "/api/overall", id="one")
    share = np.frombuffer(b64decode(told["share"]), np.float32).reshape(5, 5)
    assert share[0, 1] == 1.0
    assert share[0, 4] == pytest.approx(3 / 5)  # trusted in rounds 1, 10 and 20 of five
    assert told["sampled"] == [5, 5]


def test_an_edge_is_told_over_the_rounds_and_by_layer(tmp_path: Path) -> None:
    parted(tmp_path / "one")
    told = ask(client(tmp_path / "one"), "/api/edge", id="one", receiver=0, sender=4)
    assert told["round"] == [1, 10, 20, 30, 40]
    assert told["state"] == [2, 2, 2, 1, 1]
    assert told["outside"] == [0, 0, 0, 4, 4]
    assert told["sigmas"] == [3, 3, 3, 20, 20]
    assert [(layer["name"], layer["rounds"], layer["sigmas"]) for layer in told["layers"]] == [
        ("1.weight", 0, 0.0), ("1.bias", 2, 20.0),
    ]  # fmt: skip
    assert told["kappa"] == 16.0
    rows = table(client(tmp_path / "one"), "edge", id="one", receiver=0, sender=4)
    assert [row["trusted"] for row in rows] == ["1", "1", "1", "0", "0"]
    assert ask(client(tmp_path / "one"), "/api/edge", id="one", receiver=9, sender=4)["round"] == []


def test_many_clients_come_as_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "WHOLE", 4)
    monkeypatch.setattr("surefed.dashboard.trust.WHOLE", 4)
    monkeypatch.setattr("surefed.dashboard.sheets.WHOLE", 4)
    parted(tmp_path / "one")
    at = client(tmp_path / "one")
    told = ask(at, "/api/trust", id="one", round=40)
    assert not told["whole"]
    blocks = told["blocks"]
    assert sum(blocks["sizes"]) == 5
    assert np.sum(blocks["edges"]) == 20  # every ordered pair of five, self left out
    assert np.sum(blocks["trusted"]) == 8  # six among the honest, two among the malicious
    edge = ask(at, "/api/edge", id="one", receiver=0, sender=4)
    assert (edge["round"], edge["state"], edge["outside"]) == ([40], [1], [4])
    assert "more than" in ask(at, "/api/overall", id="one")["problem"]
    rows = table(at, "trust", id="one", round=40)
    assert sum(int(row["trusted"]) for row in rows if row["receiver_kind"] != row["sender_kind"]) == 0
    assert sum(int(row["trusted"]) for row in rows) == 8


def test_names_that_a_spreadsheet_would_run_are_text(tmp_path: Path) -> None:
    names = ["=1+1", "+x", "-x", "@x", "plain"]
    play(begin(tmp_path / "one", names=names), 1, 0.5, apart=False)
    senders = {row["sender"] for row in table(client(tmp_path / "one"), "trust", id="one", round=1)}
    assert senders == {"'=1+1", "'+x", "'-x", "'@x", "plain"}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/run", 404),
        ("/api/run?id=../one", 404),
        ("/api/run?id=one/../one", 404),
        ("/api/run?id=/etc", 404),
        ("/api/trust?id=one", 400),
        ("/api/trust?id=one&round=-1", 400),
        ("/api/trust?id=one&round=../../x", 400),
        ("/api/trust?id=one&round=1e3", 400),
        ("/api/trust?id=one&round=%D9%A3", 400),
        ("/api/trust?id=one&round=99999999999999", 400),
        ("/api/sweep?id=one", 404),
        ("/csv/passwd?id=one", 404),
        ("/../app.py", 404),
        ("/..%2fapp.py", 404),
        ("/%2e%2e/app.py", 404),
        ("/static/main.js", 404),
        ("/views/../../app.py", 404),
    ],
)
def test_nothing_else_has_an_address(tmp_path: Path, path: str, code: int) -> None:
    parted(tmp_path / "one")
    assert client(tmp_path / "one").get(path).status_code == code


def test_files_of_the_page_are_not_sent_twice(tmp_path: Path) -> None:
    at = client(tmp_path)
    first = at.get("/main.js")
    assert first.headers["content-type"].startswith("text/javascript")
    assert at.get("/main.js", headers={"if-none-match": first.headers["etag"]}).status_code == 304


def test_a_damaged_or_half_written_record_is_told_in_words(tmp_path: Path) -> None:
    made = parted(tmp_path / "one")
    at = client(tmp_path)
    id = f"{tmp_path.name}/one"
    snapshot = made.path / "trust" / "000040.npz"
    whole = snapshot.read_bytes()
    for size in (0, 1, 50, len(whole) // 2, len(whole) - 1):
        snapshot.write_bytes(whole[:size])
        assert "damaged" in ask(at, "/api/trust", id=id, round=40)["problem"]
        assert ask(at, "/api/edge", id=id, receiver=0, sender=4).get("round", []) in ([], [1, 10, 20, 30])
    snapshot.unlink()
    assert "no snapshot" in ask(at, "/api/trust", id=id, round=40)["problem"]
    for name, content in (
        ("run.json", "{"),
        ("run.json", "[]"),
        ("run.json", '{"clients": 3}'),
        ("experiment.toml", "x ="),
    ):
        kept = (made.path / name).read_text()
        (made.path / name).write_text(content)
        (brief,) = ask(at, "/api/runs")["runs"]
        assert brief["status"] == "damaged"
        assert "problem" in ask(at, "/api/run", id=id)
        (made.path / name).write_text(kept)
    (brief,) = ask(at, "/api/runs")["runs"]
    assert brief["status"] == "finished"


def test_pickled_objects_in_a_snapshot_are_refused(tmp_path: Path) -> None:
    made = parted(tmp_path / "one")
    np.savez(made.path / "trust" / "000040.npz", trusted=np.array([[{}]], dtype=object), edges=np.ones((1, 1), bool))
    assert "damaged" in ask(client(tmp_path / "one"), "/api/trust", id="one", round=40)["problem"]


def test_a_snapshot_whose_arrays_do_not_fit_is_refused(tmp_path: Path) -> None:
    made = parted(tmp_path / "one")
    made.trust(40, arrays(apart=True) | {"edges": np.ones((2, 2), dtype=bool)})
    assert "do not fit" in ask(client(tmp_path / "one"), "/api/trust", id="one", round=40)["problem"]


def test_a_peers_record_has_its_own_row_and_its_view(tmp_path: Path) -> None:
    peer(tmp_path / "north")
    at = client(tmp_path / "north")
    run = ask(at, "/api/run", id="north")
    assert (run["kind"], run["site"], run["snapshots"]) == ("peer", "north", [1, 2, 3])
    states = np.frombuffer(b64decode(ask(at, "/api/trust", id="north", round=3)["states"]), np.uint8).reshape(4, 4)
    assert states.tolist() == [[2, 2, 1, 0], [0] * 4, [0] * 4, [0] * 4]
    edge = ask(at, "/api/edge", id="north", receiver=0, sender=2)
    assert (edge["outside"], edge["worst"], edge["sigmas"]) == ([7, 7, 7], [8, 8, 8], [23.5, 23.5, 23.5])
    told = ask(at, "/api/peer", id="north")
    south, west, east = told["neighbours"]
    assert (told["certificate_days"], told["disk_free"], told["round"]) == (9.5, 5_000_000_000, 3)
    assert (south["last_heard"], west["refused"], east["verdicts"]) == (3, {"replay": 2}, ["missing"] * 3)
    assert east["why"] == "no answer by the deadline"
    assert [event["text"] for event in told["events"]] == ["a replay"]  # the torn line is left out
    assert {row["site"]: row["refused: replay"] for row in table(at, "peer", id="north")} == {
        "south": "0", "west": "2", "east": "0",
    }  # fmt: skip
    (tmp_path / "north" / "peer.json").write_text('{"doing": "wai')
    assert ask(at, "/api/peer", id="north")["round"] == 3


def test_a_simulation_is_no_peer(tmp_path: Path) -> None:
    parted(tmp_path / "one")
    assert "not of a peer" in ask(client(tmp_path / "one"), "/api/peer", id="one")["problem"]
