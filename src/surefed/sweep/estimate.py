"""What a sweep would cost, before it is run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import torch

from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round
from surefed.sweep.board import Board, duration, kind
from surefed.sweep.folder import Folder
from surefed.sweep.grid import Cell, Sweep

ROUNDS = 3
"""Rounds of one cell that are timed where nothing was measured before; the first of them does not count."""


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
        board.speed[kind(todo[0])] = seconds_a_round(todo[0], device)
        by = f"if all cells cost what {todo[0].name} costs, {board.speed[kind(todo[0])]:.3g} s a round on this machine"
    rounds = sum(cell.experiment.rounds - board.round.get(cell.name, 0) for cell in todo)
    left = duration(board.left() or 0.0)
    less = "; those that run together take less" if together > 1 else ""
    return board, f"{len(todo)} cells of {rounds} rounds in all, {size} at a time: about {left}, {by}{less}"


def seconds_a_round(cell: Cell, device: str) -> float:
    """Seconds that a round of a cell takes, evaluation left out."""
    setup = assemble(cell.experiment, device=device)
    world, times = begin(setup), []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        play_round(setup, world)
        if setup.device.type == "cuda":
            torch.cuda.synchronize(setup.device)
        times.append(time.perf_counter() - before)
    return sum(times[1:]) / len(times[1:])
