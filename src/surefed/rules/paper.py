"""SureFED to the letter: a band of two stds on every weight, and nothing else."""

from __future__ import annotations

from surefed.rules.base import Nothing, Rule
from surefed.rules.surefed import surefed


def paper() -> Rule[Nothing]:
    """Trust whoever lies within two local stds on every weight: the paper as printed, the preset to compare with.

    With a network of thousands of weights hardly anybody ever does (docs/decisions.md).
    """
    return surefed(kappa=2.0, heading="off", std_floor=0.0, std_ceiling=0.0)
