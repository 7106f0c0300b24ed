"""What runs are compared by: accuracy or, where labels are numbers, R2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from surefed.records import Record

MEASURES = {"accuracy": "accuracy", "r2": "R2"}
"""The figures that a round may have, and what people call them; of each, 1 is the best there is."""


class Score(NamedTuple):
    """How good the honest clients are: on average, and the worst of them.

    measure: `accuracy`, the share of labels that are right, or `r2`, the share of their variance that is explained;
    the latter falls below 0 where predictions are worse than the labels' mean.
    """

    measure: str
    mean: float
    worst: float


def score(line: Mapping[str, Any]) -> Score:
    """The score of an evaluated round."""
    measure = next(name for name in MEASURES if name in line)
    return Score(measure, float(line[measure]["mean"]), float(line[measure]["worst"]))


def measure_of(record: Record) -> str:
    """What a run is measured by; accuracy as long as nothing has been measured."""
    return score(record.rounds[-1]).measure if record.rounds else "accuracy"


def measured(records: Iterable[Record]) -> str:
    """What several runs are measured by, in words."""
    return " or ".join(MEASURES[measure] for measure in sorted({measure_of(record) for record in records}))


def percent(share: float | None, digits: int = 1) -> str:
    """A share for people."""
    if share is None:
        return "-"
    return "< -999 %" if share < -9.99 else f"{100 * share:.{digits}f} %"
