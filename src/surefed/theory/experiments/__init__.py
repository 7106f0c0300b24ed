"""The statements of the paper, each put to the test."""

from surefed.theory.experiments import assumptions, bias, detection, fragmentation, kappa, learning, robust
from surefed.theory.report import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    room.EXPERIMENT.name: room.EXPERIMENT
    for room in (learning, bias, robust, fragmentation, assumptions, detection, kappa)
}

__all__ = ["EXPERIMENTS"]
