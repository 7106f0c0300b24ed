"""The page's tables as Markdown, the same text for the same figures."""

from __future__ import annotations

from surefed.report import claims, provenance
from surefed.report.chapters import Chapter, Report
from surefed.report.table import plain

HEAD = """\
# Results

Made by `surefed report`; do not edit. What was measured here, beside what the paper prints.
"""


def markdown(report: Report) -> str:
    """All tables, cell by cell lists aside."""
    parts = [HEAD, "## The paper's claims\n", claims.table(report.claims).markdown()]
    parts += ["## What was run, and what was reduced\n", provenance.overview(report.sweeps).markdown()]
    gone = provenance.unfinished(report.sweeps)
    parts.append("Every cell of every sweep is finished.\n" if gone is None else gone.markdown())
    for chapter in report.chapters:
        parts += _chapter(chapter)
    return "\n".join(parts)


def _chapter(chapter: Chapter) -> list[str]:
    parts = [f"## {plain(chapter.sweep.title)}\n"]
    if chapter.reduced:
        parts.append(f"Reduced: {plain('; '.join(chapter.reduced))}.\n")
    for part in chapter.parts:
        parts.append(f"### {plain(part.title)}\n")
        for table in part.tables:
            parts += [f"**{plain(table.title)}**\n", table.markdown()]
    if chapter.remarks:
        parts.append("".join(f"- {plain(remark)}\n" for remark in chapter.remarks))
    if chapter.versions:
        parts.append(f"Versions: {plain('; '.join(chapter.versions))}.\n")
    return parts
