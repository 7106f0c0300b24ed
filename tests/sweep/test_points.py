from __future__ import annotations

from typing import Any

import pytest

from surefed.core import ConfigError
from surefed.sweep.points import Point, flat, nested, points


def settings(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(point.settings) for point in points(body, "here")]


def test_every_list_is_an_axis_and_what_is_no_list_is_not() -> None:
    body = {"seed": [0, 1], "rounds": 9, "rule": {"kappa": [2, 4]}}
    assert settings(body) == [{"seed": seed, "rounds": 9, "rule.kappa": kappa} for seed in (0, 1) for kappa in (2, 4)]
    assert points(body, "here")[0].shown == {"seed", "rule.kappa"}
    assert points({"rounds": 9}, "here", show=True)[0].shown == {"rounds"}


def test_a_value_that_is_a_list_stands_in_one_more_pair_of_brackets() -> None:
    assert settings({"attack": {"clients": [["0", "1"], ["2"]]}}) == [
        {"attack.clients": ["0", "1"]},
        {"attack.clients": ["2"]},
    ]


def test_what_is_in_one_table_of_a_list_goes_together() -> None:
    body = {"graph": [{"name": "ring"}, {"name": "regular", "k": [2, 4]}]}
    assert settings(body) == [
        {"graph.name": "ring"},
        {"graph.name": "regular", "graph.k": 2},
        {"graph.name": "regular", "graph.k": 4},
    ]


def test_names_are_set_before_options_wherever_they_stand() -> None:
    (point,) = points({"rule": {"kappa": 4, "name": "surefed"}}, "here")
    assert point.lines() == ['rule.name="surefed"', "rule.kappa=4"]


def test_entries_of_vary_come_last_with_a_label_and_a_grid_of_their_own() -> None:
    vary = {"method": [{"label": "ours", "seed": [0, 1]}, {"label": "zeno", "rule": {"name": "zeno"}}]}
    made = points({"rounds": [5, 6], "vary": vary}, "here")
    assert [(point.labels["method"], dict(point.settings)) for point in made] == [
        (label, {"rounds": rounds, **more})
        for rounds in (5, 6)
        for label, more in (("ours", {"seed": 0}), ("ours", {"seed": 1}), ("zeno", {"rule.name": "zeno"}))
    ]
    assert "rule.name" not in made[2].shown  # its label says so


def test_points_add_up_in_order_and_later_labels_win() -> None:
    both = Point((("a", 1),), {"x": "1"}) + Point((("a", 2),), {"x": "2", "y": "3"}, frozenset({"a"}))
    assert both == Point((("a", 1), ("a", 2)), {"x": "2", "y": "3"}, frozenset({"a"}))


def test_tables_are_flat_and_nested_again() -> None:
    table = {"a": {"b": {"c": 1}, "d": 2}, "e": [3]}
    assert flat(table) == {"a.b.c": 1, "a.d": 2, "e": [3]}
    assert nested(flat(table)) == table


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"sede": 1}, "unknown key 'sede'; did you mean 'seed'"),
        ({"seed": []}, "seed is an empty list, which leaves no cell"),
        ({"rounds": {"x": 1}}, "rounds is a value, not a table"),
        ({"vary": [1]}, "vary holds lists of tables"),
        ({"vary": {"method": {"label": "x"}}}, r"written as \[\[vary.method\]\]"),
        ({"vary": {"method": []}}, "vary.method is an empty list"),
        ({"vary": {"method": [{"seed": 1}]}}, "entry 1 of vary.method needs a label"),
        ({"vary": {"method": [{"label": "x", "rul": {}}]}}, "vary.method 'x': unknown key 'rul'; did you mean 'rule'"),
        ({"label": "x"}, "label is a table of texts"),
    ],
)
def test_what_is_wrong_is_named(body: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        points(body, "here")
