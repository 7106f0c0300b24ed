"""The simulator: a whole federation in one process, one batched round after another."""

from surefed.sim.experiment import Experiment
from surefed.sim.run import Run, Watcher, run

__all__ = ["Experiment", "Run", "Watcher", "run"]
