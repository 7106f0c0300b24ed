"""What a page says, chapter by chapter, before it is HTML or Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from surefed.report import figures, studies, tables
from surefed.report.claims import Decided, decide
from surefed.report.drawing import Picture
from surefed.report.groups import Group, groups
from surefed.report.names import DATASETS, STUDIES, called
from surefed.report.provenance import commands, reduced, remarks, versions
from surefed.report.results import Sweep
from surefed.report.table import Table


@dataclass(frozen=True)
class Part:
    """A table of figures with the pictures that go with it."""

    group: Group
    title: str
    tables: Sequence[Table]
    heat: Picture | None = None
    panels: Sequence[Picture] = ()
    trust: Sequence[Picture] = ()
    study: Picture | None = None

    def pictures(self) -> Iterator[Picture]:
        """All of them."""
        yield from filter(None, [self.heat, self.study])
        yield from self.panels
        yield from self.trust


@dataclass(frozen=True)
class Chapter:
    """What one sweep gave."""

    sweep: Sweep
    parts: Sequence[Part]
    reduced: Sequence[str] = field(default_factory=tuple)
    remarks: Sequence[str] = field(default_factory=tuple)
    versions: Sequence[str] = field(default_factory=tuple)
    commands: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Report:
    """The claims, and a chapter for every sweep."""

    claims: Sequence[Decided]
    chapters: Sequence[Chapter]

    @property
    def sweeps(self) -> list[Sweep]:
        """The sweeps it is about."""
        return [chapter.sweep for chapter in self.chapters]


def compose(sweeps: Sequence[Sweep], pictures: Path | None) -> Report:
    """All that a page says; pictures: the folder they are drawn into, or None for tables alone."""
    return Report(decide(sweeps), [_chapter(sweep, pictures) for sweep in sweeps])


def _chapter(sweep: Sweep, pictures: Path | None) -> Chapter:
    parts = [_part(group, pictures) for group in groups(sweep)]
    return Chapter(sweep, parts, reduced(sweep), remarks(sweep), versions(sweep), commands(sweep))


def _part(group: Group, pictures: Path | None) -> Part:
    data = called(group.dataset, DATASETS)
    title = f"{called(group.study, STUDIES)} ({data})" if group.study else data
    found = tables.tables(group)
    if pictures is None:
        return Part(group, title, found)
    if group.axes:
        return Part(group, title, found, study=studies.study(group, pictures))
    if group.study and len(tables.methods(group)) * len(tables.attacks(group)) < 9:
        return Part(group, title, found, heat=figures.heat(group, pictures), panels=figures.curves(group, pictures))
    over = figures.trust(group, pictures)
    return Part(
        group,
        title,
        found,
        figures.heat(group, pictures),
        figures.curves(group, pictures),
        [*([over] if over is not None else []), *figures.strips(group, pictures)],
    )
