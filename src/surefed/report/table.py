"""A table, and how it is written: as HTML, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal

Tone = Literal["", "good", "fair", "bad", "dim"]
TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
TEX |= {"≤": r"$\leq$", "−": "$-$", "–": "--", ">": r"\textgreater{}"}  # noqa: RUF001
TEX |= {sign: f"\\{sign}" for sign in "&%$#_{}"}
LONG = 40
"""Rows beyond which nobody reads a table through."""


@dataclass(frozen=True)
class Entry:
    """What stands in one place. notes: smaller, below it; heat: between 0 and 1, shades the place; code: a command."""

    text: str = ""
    notes: tuple[str, ...] = ()
    tone: Tone = ""
    heat: float | None = None
    code: bool = False


@dataclass(frozen=True)
class Table:
    """Columns and rows under a title; the first column names the rows.

    name: of its files. note: how to read it. tidy: the figures for the CSV file, a line each, where it has others than
    the places. words: columns that hold words rather than figures.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    note: str = ""
    tidy: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    words: frozenset[int] = frozenset({0})

    def html(self, *, titled: bool = True) -> str:
        """A table in a box that scrolls sideways where the screen is narrow.

        titled: with its title above; a long one is folded under it.
        """
        head = "".join(f'<th scope="col"{self._kind(at)}>{escape(name)}</th>' for at, name in enumerate(self.columns))
        body = "".join(f"<tr>{self._html_row(row)}</tr>\n" for row in self.rows)
        note = f"<p class=note>{escape(self.note)}</p>" if self.note else ""
        table = (
            f'<div class=wide tabindex=0 role=region aria-label="{escape(self.title)}"><table>'
            f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>{note}"
        )
        if titled and len(self.rows) > LONG:
            summary = f"{escape(self.title)} ({len(self.rows)} rows)"
            return f"<div class=block><details><summary>{summary}</summary>{table}</details></div>\n"
        title = f"<p class=title>{escape(self.title)}</p>" if titled else ""
        return f"<div class=block>{title}{table}</div>\n"

    def _html_row(self, row: Sequence[Entry]) -> str:
        places = []
        for at, entry in enumerate(row):
            text = f"<code>{escape(entry.text)}</code>" if entry.code else escape(entry.text)
            if entry.tone:
                text = f"<span class={entry.tone}>{text}</span>"
            text += "".join(f"<small>{escape(note)}</small>" for note in entry.notes)
            if at == 0:
                places.append(f'<th scope="row">{text}</th>')
            else:
                heat = "" if entry.heat is None else f' style="--heat:{min(1.0, max(0.0, entry.heat)):.2f}"'
                places.append(f"<td{self._kind(at, entry)}{heat}>{text}</td>")
        return "".join(places)

    def _kind(self, at: int, entry: Entry | None = None) -> str:
        kinds = (["words"] if at in self.words else []) + (["heat"] if entry and entry.heat is not None else [])
        return f' class="{" ".join(kinds)}"' if kinds else ""

    def markdown(self) -> str:
        """A table of GitHub's kind."""
        lines = [_piped(map(plain, self.columns))]
        lines.append(_piped(":--" if at in self.words else "--:" for at in range(len(self.columns))))
        for row in self.rows:
            texts = [f"`{e.text}`" if e.code and not {*"`|\n"} & {*e.text} else plain(e.text) for e in row]
            notes = [f"({plain('; '.join(entry.notes))})" if entry.notes else "" for entry in row]
            lines.append(_piped(f"{text} {note}".strip() for text, note in zip(texts, notes, strict=True)))
        return "\n".join([*lines, *(["", plain(self.note)] if self.note else [])]) + "\n"

    def tex(self) -> str:
        """A tabular; notes stand in brackets."""
        kinds = "".join("l" if at in self.words else "r" for at in range(len(self.columns)))
        lines = [f"% {' '.join(self.title.split())}", f"\\begin{{tabular}}{{{kinds}}}", r"\hline"]
        lines += [" & ".join(map(_tex, self.columns)) + r" \\", r"\hline"]
        for row in self.rows:
            lines.append(" & ".join(_tex(_one(e)) for e in row) + r" \\")
        return "\n".join([*lines, r"\hline", r"\end{tabular}"]) + "\n"

    def csv(self) -> str:
        """The figures, a line each, or else the places."""
        text = io.StringIO()
        if self.tidy:
            columns = list(dict.fromkeys(key for line in self.tidy for key in line))
            writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows({key: "" if v is None else v for key, v in line.items()} for line in self.tidy)
        else:
            plain = csv.writer(text, lineterminator="\n")
            plain.writerow(self.columns)
            plain.writerows([_one(e) for e in row] for row in self.rows)
        return text.getvalue()


def _one(entry: Entry) -> str:
    """A place in one line."""
    return f"{entry.text} ({'; '.join(entry.notes)})" if entry.notes else entry.text


def _piped(texts: Any) -> str:
    return "| " + " | ".join(texts) + " |"


def plain(text: str) -> str:
    """Text in Markdown that stays text, and on its line."""
    text = escape(" ".join(text.split()), quote=False)
    return "".join(f"\\{sign}" if sign in "\\`*_[]|~" else sign for sign in text)


def _tex(text: str) -> str:
    return "".join(TEX.get(sign, sign) for sign in " ".join(text.split()))
