"""Rows of plain networks learn on a GPU in few kernels, a round captured and replayed; see core/cuda."""

from surefed.learn.cuda.chain import knows, scores
from surefed.learn.cuda.round import learn

__all__ = ["knows", "learn", "scores"]
