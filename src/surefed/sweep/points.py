"""The points of a grid: every list is an axis, and what is written inside one belongs to it.

A body is a table of experiment keys. `rule.kappa = [2, 4]` is two points; lists of tables, and the entries of `vary`,
are bodies of their own, so that what they hold goes together. A value that is itself a list stands in one more pair
of brackets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from surefed.core import ConfigError
from surefed.core.registry import nearest
from surefed.sim import Experiment
from surefed.sim.toml import value as spelt

SETTABLE = tuple(name for name in Experiment.model_fields if name != "name")
"""What a body may set; the names of experiments are those of their sweep."""


@dataclass(frozen=True, slots=True)
class Point:
    """Changes of a base, in the order in which they are made.

    settings: key and value. labels: what people call it, by column. shown: the keys that tell it from other points.
    """

    settings: tuple[tuple[str, Any], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    shown: frozenset[str] = frozenset()

    def __add__(self, other: Point) -> Point:
        return Point(
            self.settings + other.settings, {**self.labels, **other.labels}, frozenset(self.shown | other.shown)
        )

    def lines(self, only: Collection[str] | None = None) -> list[str]:
        """The settings, all or only those of some keys, as `key=value`, as `surefed run --set` takes them."""
        return [f"{key}={spelt(value)}" for key, value in self.settings if only is None or key in only]


def points(body: Mapping[str, Any], where: str, *, show: bool = False) -> list[Point]:
    """Every combination of what the lists of a body hold; show: whether its single values tell its points apart."""
    labels = body.get("label", {})
    if not isinstance(labels, dict) or not all(isinstance(text, str) for text in labels.values()):
        raise ConfigError(f'{where}: label is a table of texts, such as label.study = "graphs"; not {labels!r}')
    known = {**body}
    known.pop("label", None)
    vary = known.pop("vary", {})
    axes = [_axis(key, value, where, show) for key, value in flat(checked_keys(known, where)).items()]
    axes = sorted(axes, key=lambda axis: not _names(axis))
    axes += [_entries(name, entries, where) for name, entries in _tables(vary, where).items()]
    start = Point(labels=labels)
    return [sum(parts, start) for parts in product(*axes)]


def checked_keys(body: Mapping[str, Any], where: str, others: Iterable[str] = ("label", "vary")) -> Mapping[str, Any]:
    """The body, if an experiment knows all of its keys."""
    for key in body:
        if key not in SETTABLE:
            raise ConfigError(f"{where}: unknown key {key!r}; {nearest(key, {*SETTABLE, *others})}")
        if isinstance(Experiment.model_fields[key].default, int) and isinstance(body[key], dict):
            raise ConfigError(f"{where}: {key} is a value, not a table")
    return body


def _names(axis: list[Point]) -> bool:
    """Whether an axis says what something is called, which has to come before its options."""
    return all(point.settings and point.settings[0][0].endswith(".name") for point in axis)


def _axis(key: str, value: Any, where: str, show: bool) -> list[Point]:
    """The alternatives of one key."""
    if not isinstance(value, list):
        return [Point(((key, value),), shown=frozenset({key} if show else ()))]
    if not value:
        raise ConfigError(f"{where}: {key} is an empty list, which leaves no cell; give it values or leave it out")
    alternatives: list[Point] = []
    for item in value:
        if isinstance(item, dict):
            alternatives += _product(item, key, where)
        else:
            alternatives.append(Point(((key, item),), shown=frozenset({key})))
    return alternatives


def _product(item: Mapping[str, Any], key: str, where: str) -> list[Point]:
    """The alternatives within one table of a list of tables."""
    axes = [_axis(f"{key}.{inner}", value, where, True) for inner, value in flat(item).items()]
    return [sum(parts, Point()) for parts in product(*sorted(axes, key=lambda axis: not _names(axis)))]


def _tables(vary: Any, where: str) -> dict[str, list[Any]]:
    """The axes under `vary`, each a list of tables."""
    if not isinstance(vary, dict):
        raise ConfigError(f"{where}: vary holds lists of tables, such as [[vary.method]]; not {vary!r}")
    for name, entries in vary.items():
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise ConfigError(f"{where}: vary.{name} is a list of tables, each written as [[vary.{name}]]")
        if not entries:
            raise ConfigError(f"{where}: vary.{name} is an empty list, which leaves no cell")
    return vary


def _entries(name: str, entries: list[dict[str, Any]], where: str) -> list[Point]:
    """The alternatives of an axis of `vary`; each entry has a label of its own."""
    alternatives = []
    for at, entry in enumerate(entries, 1):
        label = entry.get("label")
        if not isinstance(label, str) or not label.strip():
            raise ConfigError(f'{where}: entry {at} of vary.{name} needs a label, such as label = "surefed"')
        rest = {key: value for key, value in entry.items() if key != "label"}
        alternatives += [Point(labels={name: label}) + one for one in points(rest, f"{where}: vary.{name} {label!r}")]
    return alternatives


def flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested tables as one, with dotted names."""
    whole: dict[str, Any] = {}
    for name, value in table.items():
        whole |= flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return whole


def nested(table: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as nested tables."""
    whole: dict[str, Any] = {}
    for name, value in table.items():
        *tables, last = name.split(".")
        inner = whole
        for part in tables:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return whole
