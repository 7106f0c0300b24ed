"""What docs/graphs.md shows is what one gets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from surefed.graphs import GRAPHS

TEXT = (Path(__file__).parents[2] / "docs" / "graphs.md").read_text()


def test_every_graph_is_in_the_figure() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert [name for name in GRAPHS if f'"{name}"' not in code] == []


@pytest.mark.slow
def test_the_figure_can_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(code, {})
    assert (tmp_path / "graphs.png").stat().st_size > 50_000
