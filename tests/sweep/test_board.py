from __future__ import annotations

from pathlib import Path

import pytest
import torch

from surefed.rules import Inspection
from surefed.sim import play
from surefed.sim.engine import play_round
from surefed.sim.setup import Setup
from surefed.sim.world import World
from surefed.sweep import Board, estimate, read_sweep
from surefed.sweep.board import duration, kind
from surefed.sweep.folder import Folder

from .conftest import Write


def board(write: Write, tmp_path: Path, text: str, size: int = 1) -> Board:
    return Board.look(Folder(tmp_path / "out", read_sweep(write(text))), size)


def test_the_time_left_follows_from_seconds_a_round_by_kind(write: Write, tmp_path: Path) -> None:
    # Two rules, two seeds, 4 rounds: surefed at 10 s a round and krum at 1 s. One krum is done, one surefed half way.
    made = board(write, tmp_path, 'rule.name = ["surefed", "krum"]\nseed = [0, 1]\n')
    assert made.left() is None
    made.speed = {kind(made.cells["surefed-s0"]): 10.0, kind(made.cells["krum-s0"]): 1.0}
    made.status |= {"krum-s0": "finished", "surefed-s0": "running"}
    made.round["surefed-s0"] = 2
    assert made.left() == pytest.approx(20 + 40 + 4)
    made.size = 2
    assert made.left() == pytest.approx(40)  # no sooner than the longest cell
    assert made.summary() == "1 of 4 cells finished, 1 running, about 40 s left"


def test_cells_of_a_bundle_take_turns(write: Write, tmp_path: Path) -> None:
    made = board(write, tmp_path, "seed = [0, 1, 2, 3]\n", size=2)
    made.start("s0", "s1", "s2")
    made.start("s3")
    assert made.bundles() == {("s0", "s1", "s2"), ("s3",)}
    made.speed = {kind(made.cells["s0"]): 1.0}
    assert made.left() == pytest.approx(3 * 4)  # not half of the four, as two workers would take that share work
    made.status |= {"s0": "finished", "s3": "finished"}
    assert made.left() == pytest.approx(2 * 4)


def test_a_kind_that_was_never_seen_counts_as_the_usual_one(write: Write, tmp_path: Path) -> None:
    made = board(write, tmp_path, 'rule.name = ["surefed", "krum", "median"]\n')
    made.speed = {kind(made.cells["surefed"]): 3.0, kind(made.cells["krum"]): 1.0}
    assert made.left_of("median") == pytest.approx(4 * 2.0)


def test_a_band_that_measures_itself_is_another_kind(write: Write, tmp_path: Path) -> None:
    made = board(write, tmp_path, 'rule.kappa = [2, 4, "auto"]\n')
    assert kind(made.cells["kappa=2"]) == kind(made.cells["kappa=4"]) != kind(made.cells["kappa=auto"])


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "0 s"), (99, "99 s"), (150, "2 min"), (5940, "99 min"), (6000, "1 h 40 min")]
)
def test_durations_for_people(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_a_cell_is_timed_on_the_cores_it_would_have(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large cell takes its whole share; a small one runs on one thread, as it does when it is run."""
    used: list[int] = []

    def played(setup: Setup, world: World) -> Inspection:
        used.append(torch.get_num_threads())
        return play_round(setup, world)

    monkeypatch.setattr(estimate, "play_round", played)
    (cell,) = read_sweep(write("")).cells
    before = torch.get_num_threads()
    assert 0 < estimate.seconds_a_round(cell, "cpu", 3) < 60
    assert set(used) == {1}
    assert 2 <= len(used) <= estimate.ROUNDS
    monkeypatch.setattr(play, "SMALL", 0)
    monkeypatch.setattr(estimate, "LONG", 0.0)
    assert estimate.seconds_a_round(cell, "cpu", 3) > 0
    assert used[-2:] == [3, 3]
    assert torch.get_num_threads() == before
