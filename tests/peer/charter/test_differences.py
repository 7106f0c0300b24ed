from __future__ import annotations

import pytest

from surefed.peer.charter import Charter, differences, propose
from surefed.sim.experiment import Learn, Rule

from ..made import made, signed


def changed(**values: object) -> Charter:
    return made().charter.changed(signatures={}, **values)


def test_equal_charters_do_not_differ() -> None:
    assert differences(made().charter, made().charter) == []
    assert differences(made().charter, changed()) == []  # who has signed so far does not matter


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"seed": 8}, "seed is 7 here and 8 there"),
        ({"deadline": 60.0}, "deadline is 2.5 here and 60 there"),
        ({"name": "five"}, "name is 'four sites' here and 'five' there"),
        ({"shape": (5, 1)}, "shape is [5] here and [5, 1] there"),
        ({"learn": Learn(learning_rate=0.01)}, "learn.learning_rate is 0.001 here and 0.01 there"),
        ({"rule": Rule(name="surefed", kappa=4.0)}, "rule.kappa is 14 here and 4 there"),
        ({"rule": Rule(name="surefed", new=1)}, "rule.new is not set here and 1 there"),
        ({"rule": Rule(name="surefed")}, "rule.std_floor is 1 here and not set there"),
        ({"model_digest": "0" * 32}, "use the same model code, seed and torch"),
        ({"authority": "0" * 64}, "the certificates come from different authorities"),
    ],
)
def test_a_sentence_for_each_key(values: dict[str, object], sentence: str) -> None:
    assert any(sentence in found for found in differences(made().charter, changed(**values)))


def test_one_difference_is_one_sentence() -> None:
    assert differences(made().charter, changed(seed=8)) == ["seed is 7 here and 8 there"]
    assert len(differences(made().charter, changed(seed=8, rounds=9))) == 2


def test_founders_are_compared_by_name() -> None:
    north, south, east, west = made().charter.founders
    assert differences(made().charter, changed(founders=(south, north, east, west))) == [
        "the founders stand in another order: here north, south, east, west; there south, north, east, west"
    ]
    assert differences(made().charter, changed(founders=(north, south, east), approvals=3)) == [
        "west is a founder here and not there"
    ]
    other = north.model_copy(update={"signing": "0" * 64})
    assert differences(made().charter, changed(founders=(other, south, east, west))) == [
        f"the signing key of north is {north.signing[:16]}... here and {'0' * 16}... there"
    ]


def test_amendments_are_compared_where_the_charters_agree() -> None:
    ours = made().charter
    longer = signed(propose(ours, "revoke", "west"), "north", "south", "east")
    assert differences(ours, longer) == ["missing here: amendment 1 revokes west, the whole site"]
    assert differences(longer, ours) == ["missing there: amendment 1 revokes west, the whole site"]
    other = signed(propose(ours, "revoke", "east"), "north", "south", "west")
    assert differences(longer, other) == [
        "the amendments contradict each other: here amendment 1 revokes west, the whole site, there amendment 1 "
        "revokes east, the whole site"
    ]


def test_anybodys_charter_can_be_compared_and_its_words_stay_short_and_plain() -> None:
    hostile = {f"k{number}\x1b[2J{'x' * 500}": "y\x1b" * 500 for number in range(1000)}
    found = differences(made().charter, changed(rule=Rule(name="surefed", **hostile)))
    assert len(found) == 21
    assert found[-1].startswith("and ")
    assert all(len(sentence) < 250 and sentence.isprintable() for sentence in found)
