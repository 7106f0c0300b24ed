"""docs/results.md is what the files in results/ give, and nothing else."""

from __future__ import annotations

from pathlib import Path

import surefed
from surefed.report.build import build_markdown
from surefed.report.gather import gather

ROOT = Path(surefed.__file__).resolve().parents[2]
RESULTS, DOCUMENT = ROOT / "results", ROOT / "docs" / "results.md"


def test_the_committed_document_is_what_the_committed_files_give(tmp_path: Path) -> None:
    if not list(RESULTS.glob("*/curves.json")):
        assert not DOCUMENT.exists(), "docs/results.md has figures, but results/ has no files that they could come from"
        return
    fresh = build_markdown(gather([RESULTS]), tmp_path / "results.md").read_text()
    assert DOCUMENT.exists(), "write it with: surefed report results --out docs/results.md"
    assert DOCUMENT.read_text() == fresh, "write it again with: surefed report results --out docs/results.md"
