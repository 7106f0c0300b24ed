"""The workload that everybody plays: 50 clients, 100 random images each, the paper's CNN, 5 batches of 5 a round.

Every `play_*.py` beside this file plays it with one tool, as a user of that tool would write it, and ends by printing
one line of JSON: the seconds of every round after the first ones, by the clock and of its cores, and the MiB that its
process held at most. Only torch and numpy are imported here, because every tool lives in an environment of its own.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

CLIENTS = int(os.environ.get("CLIENTS", "50"))
TRIM = CLIENTS * 2 // 5
SAMPLES, CLASSES = 100, 10
BATCHES, BATCH = 5, 5
RATE, MOMENTUM = 0.01, 0.9  # SGD of plain networks
ADAM_RATE, RHO, KAPPA = 1e-3, -3.0, 1e6  # Bayesian networks; a band so wide that everybody passes
WARM = 2


@functools.cache
def images() -> tuple[Tensor, Tensor]:
    """Everybody's images and labels. [client, sample, 1, 28, 28], [client, sample]"""
    rng = np.random.default_rng(0)
    inputs = torch.from_numpy(rng.random((CLIENTS, SAMPLES, 1, 28, 28), dtype=np.float32))
    return inputs, (torch.arange(SAMPLES) % CLASSES).repeat(CLIENTS, 1)


def cnn() -> nn.Sequential:
    """The paper's CNN, 97 982 weights."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 7 * 7, 120),
        nn.ReLU(),
        nn.Linear(120, CLASSES),
    )


def rounds() -> int:
    """How many rounds are asked for."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else 5


def time_rounds(play: Callable[[], object]) -> None:
    """Play the rounds one by one and report."""
    seconds, worked = [], []
    for _ in range(WARM + rounds()):
        start, begun = time.perf_counter(), time.process_time()
        play()
        seconds.append(time.perf_counter() - start)
        worked.append(time.process_time() - begun)
    report(seconds[WARM:], worked[WARM:])


def report(seconds: list[float], worked: Sequence[float] = ()) -> None:
    """Print what was measured. worked: the seconds of all cores together, where one process does all the work."""
    status = Path("/proc/self/status")
    held = int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024 if status.exists() else 0.0
    print(json.dumps({"seconds": seconds, "worked": list(worked), "mib": held}), flush=True)
