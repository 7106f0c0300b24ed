"""How figures look, and how they are written: as files, and as SVG inside a page, where they take its colours."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefed.records import replace_file
from surefed.report.names import slug

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, PAPER = "#1c2127", "#c9cdd3", "#fefefd"
"""Text and axes, grid lines, background: colours that nothing else has, so that a page can put its own in place."""
KINDS = ("svg", "pdf", "png")
GREY = "#8a8f98"
STYLES: dict[str, tuple[str, str, float]] = {
    "surefed": ("#0072B2", "-", 2.6),
    "surefed_without_camps": ("#0072B2", "--", 1.8),
    "surefed_paper": ("#0072B2", ":", 1.8),
    "surefed_unbounded": ("#56B4E9", "--", 1.8),
    "surefed_unguarded": ("#0072B2", "-.", 1.8),
    "surefed_drifting": ("#56B4E9", "-.", 1.8),
    "bayp2pfl": ("#D55E00", "-", 1.5),
    "zeno": ("#56B4E9", "-", 1.5),
    "trimmed_mean": ("#009E73", "-", 1.5),
    "clipping": ("#CC79A7", "-", 1.5),
    "fltrust": ("#E69F00", "-", 1.5),
    "oracle": (GREY, "--", 1.3),
    "local_only": (GREY, ":", 1.5),
}
"""Colour, line and width of methods; Okabe and Ito's palette, told apart with any kind of colour vision."""
OTHERS = ("#009E73", "#CC79A7", "#E69F00", "#D55E00", "#7B61C4", "#56B4E9")


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn: its name, what it shows, and the SVG to put into a page."""

    name: str
    title: str
    svg: str


def style(method: str, at: int) -> tuple[str, str, float]:
    """The line of a method; one that is not known takes the `at`-th of the others."""
    lines = ("--", "-.", ":")
    return STYLES.get(method, (OTHERS[at % len(OTHERS)], lines[at // len(OTHERS) % 3], 1.4))


def words(text: str, longest: int = 60) -> str:
    """Text in one line, cut where it is too long; that it is no formula, `sheet` sees to."""
    text = "".join(sign if sign.isprintable() else "?" for sign in text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def folded(text: str, width: int = 28) -> str:
    """Text in at most two lines, cut where it is longer."""
    return "\n".join(textwrap.wrap(words(text, 2 * width), width, max_lines=2, placeholder="…"))


@contextmanager
def sheet() -> Iterator[None]:
    """The look of all figures."""
    import matplotlib as mpl  # here, because it takes a second to import

    look: Any = {
        "svg.fonttype": "none", "svg.hashsalt": "surefed", "font.size": 9, "axes.titlesize": 10, "text.color": INK,
        "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK, "grid.color": FAINT,
        "axes.spines.top": False, "axes.spines.right": False, "axes.facecolor": "none", "figure.facecolor": PAPER,
        "savefig.facecolor": PAPER, "axes.grid": True, "grid.linewidth": 0.7, "axes.axisbelow": True,
        "legend.frameon": False, "axes.titlelocation": "left", "text.parse_math": False,
    }  # fmt: skip
    with mpl.rc_context(look), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a name may be in any script
        yield


def write(figure: Figure, name: str, title: str, folder: Path, *, legend: Axes | None = None) -> Picture:
    """Write a figure as SVG, PDF and PNG; legend: whose lines are named in the files, a page names them itself."""
    name = slug(name)
    inline = _svg(figure)
    if legend is not None and legend.get_legend_handles_labels()[0]:
        handles, labels = legend.get_legend_handles_labels()
        width, height = figure.get_size_inches()
        rows = -(-len(labels) // 3)
        figure.set_size_inches(width, height + 0.2 * rows + 0.1)
        figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=3, fontsize=8)
    for kind in KINDS:
        meta = {"Date": None} if kind == "svg" else {"CreationDate": None} if kind == "pdf" else {}
        replace_file(
            folder / f"{name}.{kind}",
            lambda fresh, kind=kind, meta=meta: figure.savefig(fresh, format=kind, dpi=150, metadata=meta),  # type: ignore[misc]
        )
    return Picture(name, title, _inside(inline, name, title))


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def _inside(svg: str, name: str, title: str) -> str:
    """SVG for a page: no prolog, names of its own, the page's colours, as wide as there is room."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", svg)
    svg = re.sub(r'(href="|url\()#', rf"\1#{name}-", svg)
    for colour, meant in ((INK, "currentColor"), (FAINT, "var(--line)"), (PAPER, "none")):
        svg = svg.replace(colour, meant)
    svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 system-ui, sans-serif", svg)
    head, rest = svg.split(">", 1)
    head = re.sub(r'\sheight="[\d.]+pt"', "", head)
    head = re.sub(r'\swidth="([\d.]+)pt"', r' style="--natural:\1pt"', head)
    return f'{head} role="img"><title>{escape(title)}</title>{rest}'
