from __future__ import annotations

from typing import Literal

import pytest

from surefed.core import ConfigError
from surefed.core.registry import attribute, build, claim, find, nearest, options


def sieve(size: int, *, mesh: float = 1.0, kind: Literal["coarse", "fine"] = "fine") -> tuple[int, float, str]:
    """Keep what is large.

    And explain it at length.
    """
    if mesh < 0:
        raise ValueError("a mesh is not negative")
    return size, mesh, kind


def test_a_factory_gets_its_context_and_checked_options() -> None:
    assert build(sieve, "tool", "sieve", {"mesh": 2}, 5, gives=tuple) == (5, 2.0, "fine")
    assert claim(sieve) == "Keep what is large."
    assert set(options(sieve)) == {"mesh", "kind"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mess": 1}, "has no option 'mess'; did you mean 'mesh'"),
        ({"mesh": "wide"}, "option 'mesh'"),
        ({"kind": "medium"}, "'coarse' or 'fine'"),
        ({"mesh": -1}, "a mesh is not negative"),
    ],
)
def test_bad_options_are_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(sieve, "tool", "sieve", given, 5, gives=tuple)


def test_unknown_names_come_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="there is no tool 'seive'; did you mean 'sieve'"):
        find("seive", {"sieve": sieve}, "tool")
    assert nearest("zzz", ["b", "a"]) == "known: a, b"


def test_import_paths() -> None:
    assert attribute("math:floor", "tool") is __import__("math").floor
    with pytest.raises(ConfigError, match="cannot import 'no_such_module'"):
        attribute("no_such_module:thing", "tool")
    with pytest.raises(ConfigError, match="has no 'flor'"):
        attribute("math:flor", "tool")


@pytest.mark.parametrize("thing", [3.14, dict, print])
def test_things_that_cannot_be_called_with_options(thing: object) -> None:
    with pytest.raises(ConfigError, match="the tool 'it'"):
        build(thing, "tool", "it", {}, gives=tuple)


def test_a_factory_must_give_what_was_asked_for() -> None:
    with pytest.raises(ConfigError, match="the tool 'sieve' gives a tuple, not a list"):
        build(sieve, "tool", "sieve", {}, 5, gives=list)


@pytest.mark.parametrize("path", [":x", ".x:y", "math.py:floor"])
def test_paths_that_lead_nowhere(path: str) -> None:
    with pytest.raises(ConfigError, match="cannot import"):
        attribute(path, "tool")
