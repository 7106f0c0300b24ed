"""What an experiment says: numbers predicted and measured, and figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from surefed.core import ConfigError
from surefed.theory.fit import Estimate
from surefed.theory.settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Paper = Literal["as stated", "not as stated", "not stated"]
"""Whether the measured number is what the paper says it is."""

TOLERANCE = 0.05
"""How far a prediction may lie outside the interval, relative to itself (absolute for 0), and still agree."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One number, predicted from matrices and measured.

    predicted: None where nothing is predicted; `at_most` makes it an upper bound, `at_least` a lower one.
    """

    about: str
    quantity: str
    predicted: float | None
    measured: Estimate
    paper: Paper = "as stated"
    kind: Literal["equal", "at_most", "at_least"] = "equal"

    @property
    def agrees(self) -> bool:
        """Whether the prediction lies in the interval, give or take 5 %; whether a bound may hold, with no slack."""
        if self.predicted is None:
            return True
        slack = TOLERANCE * (abs(self.predicted) or 1.0) if self.kind == "equal" else 0.0
        above = self.measured.high + slack >= self.predicted
        below = self.measured.low - slack <= self.predicted
        return {"equal": above and below, "at_most": below, "at_least": above}[self.kind]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "about": self.about,
            "quantity": self.quantity,
            "predicted": self.predicted,
            "bound": None if self.kind == "equal" else self.kind,
            "measured": self.measured.value,
            "low": _finite(self.measured.low),
            "high": _finite(self.measured.high),
            "agrees": self.agrees,
            "paper": self.paper,
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Report:
    """All that an experiment found, and its figures by name."""

    findings: list[Finding]
    figures: dict[str, Figure] = field(default_factory=dict)


Tell = Callable[[str], None]
"""Told what is done next."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A statement put to the test.

    steps: how often `body` tells what it does next.
    """

    name: str
    claim: str
    steps: int
    body: Callable[[Settings, Tell], Report]

    def run(self, settings: Settings, tell: Tell) -> Report:
        """Put it to the test, if there is enough to see anything."""
        if settings.repetitions < 20:
            raise ConfigError(f"intervals need at least 20 repetitions, not {settings.repetitions}")
        if settings.rounds < 300:
            raise ConfigError(f"rates show after 300 rounds at the earliest, not {settings.rounds}")
        return self.body(settings, tell)
