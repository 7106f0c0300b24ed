from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from surefed.core import ConfigError
from surefed.report.build import build
from surefed.report.gather import gather

from .made import plans, values, write_sweep

HOSTILE = '<script>alert("1")</script> $x_{ & | `'
VOID = {"meta", "br", "link", "img", "path", "use", "rect", "line", "image", "circle", "polygon"}


class Reader(HTMLParser):
    """Notes every element and checks that each is closed where it should be."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.titles: list[str] = []
        self.feed(page.read_text())
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        told = dict(attrs)
        self.ids += [told["id"] or ""] if "id" in told else []
        self.links += [told[key] or "" for key in ("href", "xlink:href", "src") if key in told]
        assert not [key for key in told if key.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-2:] == ["svg", "title"]:
            self.titles.append(data)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    failed = {
        "name": "median-alie-s0",
        "labels": {"method": "median"},
        "values": values("median", "alie"),
        "score": None,
    }
    write_sweep(folder / "runs" / "mnist", [*plans(), failed], title="MNIST, by hand")
    build(gather([folder / "runs"]), folder / "out")
    return folder / "out"


def test_what_is_not_measured_is_folded_away_unless_it_is_all_there_is(made: Path, tmp_path: Path) -> None:
    assert re.search(r"<details><summary>\d+ not measured", (made / "index.html").read_text())
    write_sweep(tmp_path / "runs" / "mnist", [plans()[0]])
    build(gather([tmp_path / "runs"]), tmp_path / "out")
    assert re.search(r"<details open><summary>\d+ not measured", (tmp_path / "out" / "index.html").read_text())


def test_the_page_is_whole_and_needs_nothing_else(made: Path) -> None:
    page = Reader(made / "index.html")
    assert len(page.ids) == len(set(page.ids))
    assert not {"script", "iframe", "object", "link"} & set(page.tags)
    text = (made / "index.html").read_text()
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\'' in text
    assert "prefers-color-scheme: dark" in text
    for link in page.links:
        inside = link.startswith("data:image/png;") or (link.startswith("#") and link[1:] in page.ids)
        assert inside or (made / link).is_file(), link
    assert not re.search(r"(?:src|href)=\"?https?:", text)
    assert not re.search(r"url\((?!#)", text)


def test_every_figure_is_in_the_page_and_in_three_formats(made: Path) -> None:
    page = Reader(made / "index.html")
    names = {file.stem for file in (made / "figures").iterdir()}
    for attack in ("label_flip", "trojan", "none"):
        assert f"mnist-score-{attack}" in names
    assert {"mnist-heat", "mnist-trust", "mnist-backdoor-trojan", "mnist-who-label_flip", "mnist-who-trojan"} <= names
    assert len(page.titles) == len(names)
    for name in names:
        assert f"figures/{name}.svg" in page.links
        ElementTree.parse(made / "figures" / f"{name}.svg")
        assert (made / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (made / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_panel_has_a_line_for_each_method_in_its_colour(made: Path) -> None:
    panel = (made / "figures" / "mnist-score-label_flip.svg").read_text().lower()
    assert "stroke: #0072b2; stroke-width: 2.6" in panel
    assert "stroke: #56b4e9; stroke-width: 1.5" in panel


def test_failed_cells_are_listed_with_their_error_and_every_cell_with_a_command(made: Path) -> None:
    text = (made / "index.html").read_text()
    assert "OSError: no room in x.bin" in text
    assert "1 cell not run yet, unfinished or failed" in text
    assert "median-alie-s0" in (made / "tables" / "unfinished.csv").read_text()
    assert text.count("surefed run ") == 12
    assert "mnist/zeno-none-s1/experiment.toml" in text
    assert "surefed sweep a.toml" in text


def test_tables_are_there_as_csv_and_tex_and_markdown(made: Path) -> None:
    for name in ("claims", "sweeps", "mnist-accuracy", "mnist-trojan", "mnist-detection", "mnist-cells"):
        assert (made / "tables" / f"{name}.csv").stat().st_size > 20
        tex = (made / "tables" / f"{name}.tex").read_text()
        assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") == 1
    told = (made / "results.md").read_text()
    assert "| 91.0 (90.0 to 92.0; paper 96, \u22125.0) |" in told
    rows = [line for line in told.splitlines() if line.startswith("|")]
    assert not [row for row in rows if row.count("|") < 3]


def test_the_same_figures_give_the_same_page(made: Path, tmp_path: Path) -> None:
    build(gather([made.parent / "runs"]), tmp_path)
    assert (tmp_path / "index.html").read_bytes() == (made / "index.html").read_bytes()


def test_names_from_strangers_stay_text(tmp_path: Path) -> None:
    odd = plans([HOSTILE, "$\\frac{1}$", "\u4f60\u597d"], ["label_flip", "../../up"])
    for at, plan in enumerate(odd):
        plan["name"] = f"cell{at}"
        plan["line"] = {"backdoor": {"mean": 0.1, "worst": 0.2}}
    write_sweep(tmp_path / "runs" / "odd", odd, title=HOSTILE)
    build(gather([tmp_path / "runs"]), tmp_path / "out")
    page = Reader(tmp_path / "out" / "index.html")
    assert "script" not in page.tags
    text = (tmp_path / "out" / "index.html").read_text()
    assert "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;" in text
    assert "<script" not in text.lower()
    assert "<script" not in (tmp_path / "out" / "results.md").read_text().lower()
    assert not list(tmp_path.glob("*up*"))
    assert {file.parent.name for file in (tmp_path / "out").rglob("*.svg")} == {"figures"}
    row = next(line for line in (tmp_path / "out" / "results.md").read_text().splitlines() if line.startswith("| &lt;"))
    assert row.replace("\\|", "").count("|") == 1 + 9  # a bar in a name ends no place


def test_one_seed_of_one_cell_is_enough(tmp_path: Path) -> None:
    write_sweep(tmp_path / "mnist", plans(["surefed"], ["alie"])[:1])
    build(gather([tmp_path / "mnist"]), tmp_path / "out")
    told = (tmp_path / "out" / "results.md").read_text()
    assert "| SureFED | 90.0 (ALIE; paper 96, \u22126.0) | 1 | 90.0 (paper 96, \u22126.0) |" in told


def test_nothing_finished_is_a_page_that_says_so(tmp_path: Path) -> None:
    waiting = [{**plan, "score": None} for plan in plans()]
    write_sweep(tmp_path / "mnist", waiting)
    page = build(gather([tmp_path / "mnist"]), tmp_path / "out")
    assert "No cell is finished yet." in page.read_text()
    assert Reader(page).titles == []


def test_what_was_reduced_is_said(tmp_path: Path) -> None:
    short = plans(["surefed"], ["alie"])
    for plan in short:
        plan["values"]["rounds"] = 2000
    write_sweep(tmp_path / "mnist", short, quick=True)
    told = build(gather([tmp_path / "mnist"]), tmp_path / "out").read_text()
    assert "2000 rounds instead of 8000" in told
    assert "A rehearsal." in told
    assert "clients instead of" not in told


def test_a_page_never_lands_among_records(tmp_path: Path) -> None:
    place = write_sweep(tmp_path / "mnist", plans(["surefed"], ["alie"]))
    with pytest.raises(ConfigError, match="choose another folder"):
        build(gather([place]), place)
