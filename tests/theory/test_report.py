from __future__ import annotations

import pytest

from surefed.core import ConfigError
from surefed.theory import EXPERIMENTS
from surefed.theory.fit import Estimate
from surefed.theory.page import number, render
from surefed.theory.report import Experiment, Finding, Report
from surefed.theory.settings import Settings

TEST = Experiment("apples", "Apples fall.", 1, lambda settings, tell: Report([]))


@pytest.mark.parametrize(
    ("predicted", "kind", "agrees"),
    [
        (1.0, "equal", True),
        (1.25, "equal", True),  # outside of the interval, but by less than 5 %
        (1.4, "equal", False),
        (0.7, "equal", False),
        (0.7, "at_least", True),
        (1.4, "at_least", False),
        (1.4, "at_most", True),
        (0.7, "at_most", False),
        (None, "equal", True),
    ],
)
def test_what_agrees(predicted: float | None, kind: str, agrees: bool) -> None:
    assert Finding("", "", predicted, Estimate(1.0, 0.8, 1.2), kind=kind).agrees is agrees


def test_a_page_keeps_its_prose() -> None:
    page = "# Title\n\nBefore.\n\n<!-- apples: begin -->\n\nold\n\n<!-- apples: end -->\n\nAfter.\n"
    report = Report([Finding("apples", "speed", 9.81, Estimate(9.8, 9.7, 9.9))])
    fresh = render(page, TEST, report, "theory")
    assert fresh.startswith("# Title\n\nBefore.\n\n<!-- apples: begin -->")
    assert fresh.endswith("<!-- apples: end -->\n\nAfter.\n")
    assert "| apples | speed | 9.810 | 9.800 (9.700 to 9.900) | agrees | as stated |" in fresh
    assert "old" not in fresh
    assert render(fresh, TEST, report, "theory") == fresh


def test_a_new_page_begins_with_a_heading_and_grows_at_its_end() -> None:
    report = Report([Finding("x", "y", 1.0, Estimate(2.0, 1.9, 2.1), "not as stated")])
    first = render("", TEST, report, "theory")
    assert first.startswith("# The theorems, alive\n\n## Apples fall.\n")
    assert "**differs** | **not as stated**" in first
    both = render(first, Experiment("pears", "Pears too.", 1, TEST.body), report, "theory")
    assert both.startswith(first.rstrip())
    assert both.count("##") == 2


def test_numbers_for_people() -> None:
    assert [number(value) for value in (-1e-9, 0.12345, -2.0, 12.345, 12345.6)] == [
        "0",
        "0.123",
        "-2.000",
        "12.3",
        "12346",
    ]


def test_too_little_to_see_anything_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 20 repetitions"):
        TEST.run(Settings(1000, 3), print)
    with pytest.raises(ConfigError, match="300 rounds"):
        TEST.run(Settings(50, 100), print)


SLOW = {"learning", "bias", "robust", "fragmentation", "assumptions"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in EXPERIMENTS])
def test_every_experiment_finds_what_it_predicts(name: str) -> None:
    told: list[str] = []
    rounds = 1000 if name == "robust" else 300  # the way out of the poison takes a while
    report = EXPERIMENTS[name].run(Settings(rounds, 20, 1), told.append)
    assert len(told) == EXPERIMENTS[name].steps
    assert name in report.figures
    differ = [finding for finding in report.findings if not finding.agrees]
    assert len(differ) <= max(1, len(report.findings) // 6), differ  # of 95 % intervals some miss
