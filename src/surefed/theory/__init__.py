"""The theorems, alive: linear regression with Gaussian beliefs, what the matrices predict, and what is measured."""

from surefed.theory.beliefs import Full, kalman, kalman_diagonal, pool_full, regression
from surefed.theory.detection import detection
from surefed.theory.engine import Trace, simulate
from surefed.theory.experiments import EXPERIMENTS
from surefed.theory.kappa import agreement_for, band_for, pass_chance
from surefed.theory.page import render
from surefed.theory.report import Experiment, Finding, Report
from surefed.theory.settings import Settings
from surefed.theory.world import World, make

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Finding",
    "Full",
    "Report",
    "Settings",
    "Trace",
    "World",
    "agreement_for",
    "band_for",
    "detection",
    "kalman",
    "kalman_diagonal",
    "make",
    "pass_chance",
    "pool_full",
    "regression",
    "render",
    "simulate",
]
