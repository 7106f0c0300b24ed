from __future__ import annotations

import json
from pathlib import Path

import pytest

from .test_cli import call, here

__all__ = ["here"]

QUICK = ["--repetitions", "20", "--rounds", "300"]


def test_json_is_json_and_nothing_else(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("theory", "detection", *QUICK, "--format", "json") == 0
    said = capsys.readouterr()
    findings = json.loads(said.out)["detection"]
    assert said.err == ""
    assert {"about", "predicted", "measured", "low", "high", "agrees", "paper"} <= set(findings[0])
    assert (here / "runs" / "theory" / "theory" / "detection.png").stat().st_size > 10_000


def test_the_page_keeps_its_prose_and_is_filled_in(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = here / "docs" / "theory.md"
    page.parent.mkdir()
    page.write_text("Mine.\n\n<!-- detection: begin -->\n<!-- detection: end -->\n\nMine too.\n")
    assert call("theory", "detection", *QUICK) == 0
    said = capsys.readouterr()
    assert "docs/theory.md" in said.out
    assert "chance" in said.out  # a narrow terminal wraps what follows
    assert "detection: asking rules/surefed.py" in said.err
    text = page.read_text()
    assert text.startswith("Mine.\n")
    assert text.endswith("Mine too.\n")
    assert "(theory/detection.png)" in text
    assert "| agrees |" in text


def test_equal_seeds_give_equal_numbers(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for seed in ("0", "0", "1"):
        assert call("theory", "detection", *QUICK, "--seed", seed, "--out", "x", "--format", "json") == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert said[0] != said[2]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["all", "--repetitions", "1"], 2, "at least 20 repetitions"),
        (["learning", "--rounds", "10"], 2, "300 rounds"),
        (["learning", "--rounds", "-1"], 2, "at least 1 round"),
        (["detection", *QUICK, "--out", "taken"], 5, "cannot write"),
        (["detection", *QUICK, "--out", "odd"], 2, "not a text"),
        (["detektion"], 2, "No such command"),
    ],
)
def test_every_mistake_has_its_message_and_exit_code(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    (here / "taken").write_text("mine")
    (here / "odd").mkdir()
    (here / "odd" / "theory.md").write_bytes(b"\xff\xfe\x00")
    assert call("theory", *words) == code
    said = capsys.readouterr()
    assert message in said.err.replace("\n", " ")
    assert "Traceback" not in said.err
    assert (here / "taken").read_text() == "mine"
