"""How claims are decided: verdicts, and what to say where a cell is missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from surefed.report.names import called
from surefed.report.tables import points

ROUNDING, FEW = 1e-9, 4


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    PART = "holds in part"
    NOT = "does not hold here"
    UNKNOWN = "not measured"


Finding = tuple[Verdict, str]


def missing(figures: Mapping[str, float | None], known: Mapping[str, str]) -> Finding | None:
    """What to say where a cell is missing."""
    gone = [called(name, known) for name, figure in figures.items() if figure is None]
    if not gone:
        return None
    if len(gone) == len(figures):
        return Verdict.UNKNOWN, "No cell that would tell."
    more = f" and {len(gone) - FEW} more" if len(gone) > FEW else ""
    return Verdict.UNKNOWN, f"Missing: {', '.join(gone[:FEW])}{more}."


def judged(
    figures: Mapping[str, float | None],
    known: Mapping[str, str],
    needed: Iterable[str],
    judge: Callable[[dict[str, float]], Finding],
) -> Finding:
    """The finding, also where figures are missing that could not change it.

    Every figure that may be missing must count in one direction only. Where one could change the verdict, the claim is
    not measured, and the sentence tells what the figures show that are there.

    Args:
        needed: those without which nothing can be told.
        judge: decides from the figures that are there; what it is given is its own to change.
    """
    there, gone = measured(figures), missing(figures, known)
    if gone is None:
        return judge(there)
    if not set(needed) < there.keys():
        return gone
    verdict, sentence = judge(dict(there))
    least, most = (judge({**dict.fromkeys(figures, value), **there})[0] for value in (-math.inf, math.inf))
    if least is most:
        return least, f"{sentence} {gone[1]} The verdict stands without."
    return Verdict.UNKNOWN, f"{gone[1]} As far as measured: {verdict.value}. {sentence}"


def measured(figures: Mapping[str, float | None]) -> dict[str, float]:
    """The figures that there are."""
    return {name: figure for name, figure in figures.items() if figure is not None}


def all_or_some(found: Iterable[bool]) -> Verdict:
    """It holds if all do, and in part if some do."""
    held = list(found)
    return Verdict.HOLDS if all(held) else Verdict.PART if any(held) else Verdict.NOT


def listed(figures: Mapping[str, float], known: Mapping[str, str]) -> str:
    """Names and figures in words."""
    return ", ".join(f"{called(name, known)} {points(figure)}" for name, figure in figures.items())


def within(below: float, limit: float) -> bool:
    """Whether so much is lost at most, rounding aside."""
    return below <= limit + ROUNDING
