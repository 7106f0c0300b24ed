from __future__ import annotations

import csv
import io

from surefed.report.table import LONG, Entry, Table

TABLE = Table(
    "t", "100 % & more", ["Method", "A_b"], [[Entry("x|y"), Entry("1.0", ("\u22120.5", "2 > 1"))]], words=frozenset({0})
)


def test_markdown_keeps_places_apart() -> None:
    assert TABLE.markdown() == "| Method | A\\_b |\n| :-- | --: |\n| x\\|y | 1.0 (\u22120.5; 2 &gt; 1) |\n"


def test_tex_escapes_what_means_something_to_it() -> None:
    assert "Method & A\\_b \\\\" in TABLE.tex()
    assert "x|y & 1.0 ($-$0.5; 2 \\textgreater{} 1) \\\\" in TABLE.tex()
    assert "\\begin{tabular}{lr}" in TABLE.tex()


def test_csv_is_read_as_it_was_written() -> None:
    assert list(csv.reader(io.StringIO(TABLE.csv()))) == [["Method", "A_b"], ["x|y", "1.0 (\u22120.5; 2 > 1)"]]


def test_html_shades_figures_and_escapes_words() -> None:
    shaded = Table("t", "a < b", ["x", "y"], [[Entry("<i>"), Entry("5", heat=7.0)]], note="<b>")
    assert '<td class="heat" style="--heat:1.00">5</td>' in shaded.html()
    assert "&lt;i&gt;" in shaded.html()
    assert "<p class=title>a &lt; b</p>" in shaded.html()
    assert "<p class=note>&lt;b&gt;</p>" in shaded.html()
    assert "class=title" not in shaded.html(titled=False)


def test_a_long_table_is_folded_under_its_title() -> None:
    def written(rows: int, *, titled: bool = True) -> str:
        return Table("t", "Whom & when", ["who"], [[Entry(str(at))] for at in range(rows)]).html(titled=titled)

    assert "<details" not in written(LONG)
    assert f"<details><summary>Whom &amp; when ({LONG + 1} rows)</summary>" in written(LONG + 1)
    assert written(LONG + 1).count("<tr>") == LONG + 2
    assert "<details" not in written(LONG + 1, titled=False)  # whoever leaves the title out folds it himself, or not
