"""The page of the theorems: tables go between markers, the prose around them stays as it is."""

from __future__ import annotations

from surefed.theory.report import Experiment, Finding, Report

HEADING = "# The theorems, alive\n"


def render(page: str, experiment: Experiment, report: Report, folder: str) -> str:
    """The page with this experiment's figures and table put in the place of the old ones, or at the end.

    Args:
        page: the text so far; empty for a new page.
        folder: where the figures lie, seen from the page.
    """
    begin, end = f"<!-- {experiment.name}: begin -->", f"<!-- {experiment.name}: end -->"
    pictures = [f"![{experiment.claim}]({folder}/{title}.png)" for title in report.figures]
    block = "\n\n".join([begin, *pictures, table(report.findings), end])
    before, found, rest = page.partition(begin)
    if not found:
        text = page.rstrip() or HEADING.rstrip()
        return f"{text}\n\n## {experiment.claim}\n\n{block}\n"
    _, _, after = rest.partition(end)
    return before + block + after


def table(findings: list[Finding]) -> str:
    """Predicted against measured, a line each."""
    lines = ["| | | predicted | measured, 95 % interval | | the paper |", "|---|---|--:|--:|---|---|"]
    for one in findings:
        sign = {"equal": "", "at_most": "at most ", "at_least": "at least "}[one.kind]
        predicted = "" if one.predicted is None else f"{sign}{number(one.predicted)}"
        measured = f"{number(one.measured.value)} ({number(one.measured.low)} to {number(one.measured.high)})"
        verdict = "" if one.predicted is None else ("agrees" if one.agrees else "**differs**")
        paper = {"as stated": "as stated", "not as stated": "**not as stated**", "not stated": ""}[one.paper]
        lines.append(f"| {one.about} | {one.quantity} | {predicted} | {measured} | {verdict} | {paper} |")
    return "\n".join(lines)


def number(value: float) -> str:
    """Three digits, and no sign on a zero."""
    if abs(value) < 5e-4:
        return "0"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 1000 else f"{value:.0f}"
