"""Imports point one way: which room may import which is a table, and this is where it is kept."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import surefed

ROOMS = {
    "core": set(),
    "learn": {"core"},
    "models": {"core"},
    "data": {"core"},
    "graphs": {"core"},
    "attacks": {"core"},
    "rules": {"core"},
    "records": {"core"},
    "report": {"core", "records"},
    "theory": {"core", "graphs", "rules"},
    "sim": {"core", "learn", "models", "data", "graphs", "attacks", "rules", "records"},
    "peer": {"core", "learn", "models", "data", "graphs", "attacks", "rules", "records", "sim"},
    "sweep": {"core", "records", "sim"},
    "dashboard": {"core", "records"},
    "cli": {
        "core",
        "learn",
        "models",
        "data",
        "graphs",
        "attacks",
        "rules",
        "records",
        "report",
        "sim",
        "theory",
        "sweep",
        "peer",
        "dashboard",
    },
}
SOURCE = Path(surefed.__file__).parent


def imported(file: Path) -> set[str]:
    """The rooms a file imports from."""
    rooms = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names = [node.module or ""]
            if node.module == "surefed":
                names = [f"surefed.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("surefed.")}
    return rooms


def test_every_room_is_in_the_table() -> None:
    rooms = {entry.name for entry in SOURCE.iterdir() if entry.is_dir() and not entry.name.startswith("_")}
    assert rooms == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    for file in (SOURCE / room).rglob("*.py"):
        assert imported(file) <= ROOMS[room] | {room}, file


def test_nothing_is_unpickled() -> None:
    for file in SOURCE.rglob("*.py"):
        text = file.read_text()
        assert "pickle.load" not in text, file
        assert "torch.load(" not in text, file
        assert "allow_pickle=True" not in text, file
