"""Verdicts are counted by neighbour, and a count survives being saved."""

from __future__ import annotations

import json

from surefed.peer.tally import Tally
from surefed.peer.verdict import Verdict


def test_rounds_are_counted_by_verdict() -> None:
    tally = Tally()
    tally.add(1, {"anna": Verdict("trusted", 1), "bert": Verdict("missing")})
    tally.add(2, {"anna": Verdict("distrusted", 2), "bert": Verdict("not expected")})
    again = Tally(json.loads(json.dumps(tally.plain())))
    again.add(3, {"anna": Verdict("malformed"), "bert": Verdict("trusted", 2)})
    anna, bert = again.plain()["anna"], again.plain()["bert"]
    assert (anna["expected"], anna["heard"], anna["trusted"], anna["distrusted"], anna["malformed"]) == (3, 2, 1, 1, 1)
    assert (bert["expected"], bert["heard"], bert["missing"], bert["last_heard"]) == (2, 1, 1, 3)


def test_a_reason_is_new_only_once() -> None:
    tally = Tally()
    assert tally.refuse({"anna": {"replay": 2}}) == [("anna", "replay")]
    assert tally.refuse({"anna": {"replay": 5, "size": 1}}) == [("anna", "size")]
    assert tally.plain()["anna"]["refused"] == {"replay": 7, "size": 1}
