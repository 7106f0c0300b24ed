"""A site that fell behind jumps as far as its slowest live neighbour, and nobody can push it further."""

from __future__ import annotations

from surefed.peer.pace import STILL, Pace

SITES = ("anna", "bert", "cleo")


def test_a_little_behind_is_no_reason_to_jump() -> None:
    pace = Pace(deadline=10.0, keep=8)
    pace.note({"anna": 12, "bert": 12, "cleo": 11}, now=0.0)
    assert pace.jump(5, SITES, now=1.0) == 5  # cleo is 6 ahead and still serves round 5


def test_it_jumps_to_the_least_that_live_neighbours_claim() -> None:
    pace = Pace(deadline=10.0, keep=8)
    pace.note({"anna": 40, "bert": 57, "cleo": 1_000_000}, now=0.0)
    assert pace.jump(5, SITES, now=1.0) == 40


def test_one_that_claims_much_moves_nobody_while_another_is_near() -> None:
    pace = Pace(deadline=10.0, keep=8)
    pace.note({"anna": 6, "cleo": 1_000_000}, now=0.0)
    assert pace.jump(5, SITES, now=1.0) == 5


def test_one_that_stands_still_holds_nobody_back_for_ever() -> None:
    pace = Pace(deadline=10.0, keep=8)
    pace.note({"anna": 1, "bert": 40, "cleo": 41}, now=0.0)
    assert pace.jump(5, SITES, now=1.0) == 5
    later = STILL * 10.0 + 1.0
    pace.note({"anna": 1, "bert": 43, "cleo": 44}, now=later)
    assert pace.jump(5, SITES, now=later) == 43


def test_one_is_late_when_every_live_neighbour_is_beyond() -> None:
    pace = Pace(deadline=10.0, keep=8)
    assert not pace.late(5, SITES, now=0.0)
    pace.note({"anna": 7, "bert": 6, "cleo": 5}, now=0.0)
    assert not pace.late(5, SITES, now=1.0)  # cleo may be waiting for us
    pace.note({"anna": 8, "bert": 7}, now=STILL * 10.0)
    assert pace.late(5, SITES, now=STILL * 10.0 + 1.0)  # cleo stands still


def test_without_a_claim_it_stays() -> None:
    assert Pace(deadline=10.0, keep=8).jump(5, SITES, now=0.0) == 5
