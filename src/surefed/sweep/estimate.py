"""What a sweep would cost, before it is run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round
from surefed.sim.play import threads
from surefed.sweep.board import Board, duration, kind
from surefed.sweep.folder import Folder
from surefed.sweep.grid import Cell, Sweep
from surefed.sweep.processes import cores

ROUNDS = 50
"""Rounds of one cell that are played where nothing was measured before, or fewer if they take long."""
LONG = 1.0
"""Seconds; two rounds are played in any case, and the first does not count."""


def estimate(
    sweep: Sweep, out: Path, *, device: str, size: int, only: Sequence[str] = (), together: int = 1
) -> tuple[Board, str]:
    """How far the cells are, and a sentence on how long the rest will take.

    It goes by what was measured in the folder or, failing that, by a few rounds of the first cell, played here. What
    running cells together saves is not foreseen, but said.
    """
    board = Board.look(Folder(out, sweep), size, only)
    todo = [board.cells[name] for name in board.todo()]
    if not todo:
        return board, "nothing is left to do"
    by = "by what was measured here before"
    if not board.speed:
        board.speed[kind(todo[0])] = seconds_a_round(todo[0], device, max(1, cores() // size))
        by = f"if all cells cost what {todo[0].name} costs, {board.speed[kind(todo[0])]:.3g} s a round on this machine"
    rounds = sum(cell.experiment.rounds - board.round.get(cell.name, 0) for cell in todo)
    left = duration(board.left() or 0.0)
    less = "; those that run together take less" if together > 1 else ""
    return board, f"{len(todo)} cells of {rounds} rounds in all, {size} at a time: about {left}, {by}{less}"


def seconds_a_round(cell: Cell, device: str, share: int) -> float:
    """Seconds that a round of a cell usually takes, evaluation left out, on its share of the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(share)
    try:
        setup = assemble(cell.experiment, device=device)
        world, times = begin(setup), list[float]()
        with threads(world):
            while len(times) < 2 or (len(times) < ROUNDS and sum(times[1:]) < LONG):
                start = time.perf_counter()
                play_round(setup, world)
                if setup.device.type == "cuda":
                    torch.cuda.synchronize(setup.device)
                times.append(time.perf_counter() - start)
    finally:
        torch.set_num_threads(before)
    return statistics.median(times[1:])
