"""The simulator: a whole federation in one process, one batched round after another."""

from surefed.sim.experiment import Experiment
from surefed.sim.play import Watcher
from surefed.sim.run import Run, run
from surefed.sim.together import run_together

__all__ = ["Experiment", "Run", "Watcher", "run", "run_together"]
