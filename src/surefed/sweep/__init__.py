"""Sweeps: a grid of experiments, each in a folder of its own, and one table of what they gave."""

from surefed.sweep.board import Board
from surefed.sweep.drive import CellsFailed, run_sweep
from surefed.sweep.grid import Cell, Sweep, read_sweep

__all__ = ["Board", "Cell", "CellsFailed", "Sweep", "read_sweep", "run_sweep"]
