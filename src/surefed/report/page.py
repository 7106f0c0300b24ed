"""The page: one HTML file with everything in it, readable without a network and without scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

from surefed.report import claims, provenance
from surefed.report.chapters import Chapter, Part, Report
from surefed.report.drawing import Picture
from surefed.report.figures import legend
from surefed.report.judging import Verdict
from surefed.report.names import slug
from surefed.report.style import CSS

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
MANY = 12
"""Unfinished cells that are folded away."""
SIDE_BY_SIDE = 4
"""The most columns of a table that stands beside its figure."""
DASHES = {"-": "", "--": "6 4", ":": "2 3", "-.": "6 3 2 3"}


def page(report: Report) -> str:
    """The whole page."""
    body = [
        "<header><h1>SureFED: results</h1>",
        "<p class=soft>Peer-to-peer federated learning among malicious clients: what was measured here, beside what "
        "the paper prints. Made by <code>surefed report</code> from records, and from nothing else.</p>",
        _contents(report),
        "</header><main>",
        _claims(report),
        _overview(report),
        *(_chapter(chapter) for chapter in report.chapters),
        _cells(report),
        "</main>",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>SureFED: results</title><style>{CSS}</style></head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _contents(report: Report) -> str:
    links = [("claims", "Claims"), ("run", "What was run")]
    links += [(_anchor(chapter), chapter.sweep.title) for chapter in report.chapters]
    links.append(("cells", "Every cell"))
    items = "".join(f'<li><a href="#{anchor}">{escape(text)}</a></li>' for anchor, text in links)
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>'


def _claims(report: Report) -> str:
    counts = Counter(one.verdict for one in report.claims)
    tally = "".join(
        f"<li><b class={claims.TONES[verdict]}>{counts[verdict]}</b>{escape(verdict.value)}</li>" for verdict in Verdict
    )
    known = [one for one in report.claims if one.verdict is not Verdict.UNKNOWN]
    unknown = [one for one in report.claims if one.verdict is Verdict.UNKNOWN]
    rest = claims.table(unknown).html(titled=False) if unknown else ""
    if unknown:
        rest = _folded(f"{len(unknown)} not measured", rest, opened=not known)
    return (
        "<section class=claims id=claims><h2>The paper's claims</h2>"
        "<p>Each claim of the paper's evaluation, decided by code from the figures below. Rehearsals "
        "(<code>--quick</code>) decide nothing.</p>"
        f"<ul class=tally>{tally}</ul>{claims.table(known).html(titled=False) if known else ''}{rest}</section>"
    )


def _overview(report: Report) -> str:
    gone = provenance.unfinished(report.sweeps)
    missing = "<p>Every cell of every sweep is finished.</p>"
    if gone is not None:
        count = sum(not cell.finished for sweep in report.sweeps for cell in sweep.cells)
        summary = f"{count} cell{'s' if count > 1 else ''} not run yet, unfinished or failed"
        missing = _folded(summary, gone.html(titled=False), opened=len(gone.rows) <= MANY)
    table = provenance.overview(report.sweeps).html(titled=False)
    return f"<section id=run><h2>What was run, and what was reduced</h2>{table}{missing}</section>"


def _chapter(chapter: Chapter) -> str:
    sweep = chapter.sweep
    head = f'<section id="{_anchor(chapter)}"><h2>{escape(sweep.title)}</h2>'
    if sweep.quick:
        head += (
            "<p class=quick><b>A rehearsal.</b> Few clients and rounds, a small network: the paper's figures stand "
            "beside it so that the table is complete, and are not comparable.</p>"
        )
    elif chapter.reduced:
        head += f"<p class=quick><b>Reduced:</b> {escape('; '.join(chapter.reduced))}.</p>"
    if not chapter.parts:
        head += "<p>No cell is finished yet.</p>"
    notes = ""
    if chapter.remarks:
        items = "".join(f"<li>{escape(remark)}</li>" for remark in chapter.remarks)
        notes = _folded("What to know of some cells", f"<ul class=note>{items}</ul>")
    return head + "".join(map(_part, chapter.parts)) + notes + "</section>"


def _part(part: Part) -> str:
    title = f"<h3>{escape(part.title)}</h3>"
    if part.study is not None:
        inner = _figure(part.study) + "".join(table.html() for table in part.tables)
        beside = all(len(table.columns) <= SIDE_BY_SIDE for table in part.tables)
        return f"{title}<div class=pair>{inner}</div>" if beside else f"{title}<div class=single>{inner}</div>"
    first, *others = part.tables
    text = [title, first.html()]
    if part.heat is not None:
        text.append(_figure(part.heat, "roomy"))
    if part.panels:
        text += ["<h3>Over rounds</h3>", _key(part), f"<div class=panels>{''.join(map(_figure, part.panels))}</div>"]
    text += [table.html() for table in others]
    if part.trust:
        text.append("<h3>Who trusts whom</h3>")
        if len(part.trust) > 1:  # pictures of who trusts whom, beside the curves
            text.append(
                "<p class=note>In squares: receivers from top to bottom, senders from left to right, malicious ones "
                "after the orange lines. Blue: trusted; grey: left out.</p>"
            )
        text += [_figure(picture, "roomy") for picture in part.trust]
    return "".join(text)


def _key(part: Part) -> str:
    """What the lines of the panels are."""
    items = [
        f'<li><svg viewBox="0 0 30 10" aria-hidden="true"><line x1="0" y1="5" x2="30" y2="5" stroke="{colour}" '
        f'stroke-width="3" stroke-dasharray="{DASHES[dashes]}"/></svg>{escape(name)}</li>'
        for colour, dashes, name in legend(part.group)
    ]
    return f"<ul class=key>{''.join(items)}</ul>"


def _figure(picture: Picture, kind: str = "") -> str:
    files = ", ".join(f'<a href="figures/{picture.name}.{suffix}">{suffix}</a>' for suffix in ("svg", "pdf", "png"))
    kind = f' class="{kind}"' if kind else ""
    return f"<figure{kind}>{picture.svg}<figcaption>{escape(picture.title)} ({files})</figcaption></figure>"


def _cells(report: Report) -> str:
    return (
        "<section class=cells id=cells><h2>Every cell, and how to run it again</h2>"
        + "".join(map(_cells_of, report.chapters))
        + "</section>"
    )


def _cells_of(chapter: Chapter) -> str:
    sweep = chapter.sweep
    return _folded(
        f"{sweep.title}: {len(sweep.cells)} cells",
        _listed("Commands of the sweep", chapter.commands, code=True)
        + _listed("Versions", chapter.versions)
        + provenance.cells(sweep).html(),
    )


def _folded(summary: str, inside: str, *, opened: bool = False) -> str:
    """HTML that a click on the summary, which is text, shows or hides."""
    return f"<details{' open' if opened else ''}><summary>{escape(summary)}</summary>{inside}</details>"


def _listed(title: str, texts: Sequence[str], *, code: bool = False) -> str:
    if not texts:
        return ""
    return f"<p>{title}:</p><ul>{''.join(_items(texts, code))}</ul>"


def _items(texts: Iterable[str], code: bool) -> Iterable[str]:
    return (f"<li><code>{escape(text)}</code></li>" if code else f"<li>{escape(text)}</li>" for text in texts)


def _anchor(chapter: Chapter) -> str:
    return f"sweep-{slug(chapter.sweep.name)}"
