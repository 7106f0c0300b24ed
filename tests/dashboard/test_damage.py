"""Whatever a record looks like at the moment it is read, there is an answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from surefed.dashboard import pairs
from surefed.dashboard.app import application
from tests.dashboard.client import Client
from tests.dashboard.records import parted, peer

QUESTIONS = (
    "/api/runs", "/api/run?id={0}", "/api/curves?id={0}", "/api/trust?id={0}&round=40", "/api/trust?id={0}&round=2",
    "/api/overall?id={0}", "/api/edge?id={0}&receiver=0&sender=2", "/api/peer?id={0}", "/api/sweep?id=shelf",
    "/csv/curves?id={0}", "/csv/trust?id={0}&round=40", "/csv/edge?id={0}&receiver=0&sender=2", "/csv/peer?id={0}",
    "/csv/sweep?id=shelf",
)  # fmt: skip


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "half": half,
    "empty": lambda path: path.write_bytes(b""),
    "gone": Path.unlink,
    "folder": folder,
    "noise": lambda path: path.write_bytes(bytes(range(256)) * 4),
    "a list": lambda path: path.write_text("[1, 2]\n"),
    "a number": lambda path: path.write_text("7\n"),
    "nested": lambda path: path.write_text("[" * 100_000),
    "other values": lambda path: path.write_text(
        '{"round": 3, "clients": [1, null, {}], "malicious": [[]], "layers": {"x": "y"}, "neighbours": {"south": 4},'
        ' "trusted": 5, "accuracy": {"mean": "high"}, "present": 3, "kind": "peer", "site": 9, "cells": [{}]}\n'
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_no_damage_goes_without_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr("surefed.dashboard.library.PACE", 0.0)
    monkeypatch.setattr(pairs, "CACHE", pairs.Cache())
    whole = tmp_path / "whole"
    parted(whole / "one")
    peer(whole / "north")
    (whole / "sweep.json").write_text('{"cells": [{"name": "one", "values": {"rule.name": "surefed"}}]}')
    files = [path.relative_to(whole) for path in whole.rglob("*") if path.is_file() and "timing" not in path.name]
    for file in files:
        shelf = tmp_path / "shelf"
        shutil.copytree(whole, shelf)
        at = Client(application([shelf]))
        assert at.get("/api/runs").status_code == 200  # read once while it is whole
        DAMAGE[kind](shelf / file)
        for id in ("shelf/one", "shelf/north"):
            for question in QUESTIONS:
                answer = at.get(question.format(id))
                assert answer.status_code in (200, 404, 409), (file, question, answer.text)
        shutil.rmtree(shelf)
