"""What a test of everybody costs, where one of those that have pooled the same is asked, and where all are.

    python benchmarks/testing.py [--clients 50] [--rounds 20] [--model cnn] [--samples 600] [--device cpu]

Plays some rounds on random images, then predicts what everybody's social belief says about the same samples, both ways
in turn, three times, and prints the least seconds of each, and how many different beliefs there were.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

import surefed
from surefed.learn import distinct, predict
from surefed.sim import Experiment
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round, predictions, social

SHAPES = {"cnn": (1, 28, 28), "resnet20": (3, 32, 32)}
RULES = ("bayp2pfl", "trimmed_mean", "surefed", "local_only")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--model", choices=SHAPES, default="cnn")
    parser.add_argument("--samples", type=int, default=600)
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    rng, shape = np.random.default_rng(0), SHAPES[asked.model]

    def images(count: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.random((count, *shape), dtype=np.float32), rng.integers(0, 10, count)

    data = surefed.federation([images(60) for _ in range(asked.clients)], test=images(asked.samples))
    for rule in RULES:
        plan = Experiment.of({"model": {"name": asked.model}, "rule": {"name": rule}})
        setup = assemble(plan, data=data, device=asked.device)
        world, inputs = begin(setup), setup.clean.test_inputs
        for _ in range(asked.rounds):
            play_round(setup, world)
        ways: tuple[Callable[[], torch.Tensor], ...] = (
            lambda setup=setup, world=world, inputs=inputs: predictions(setup, world, "social", inputs),
            lambda setup=setup, world=world, inputs=inputs: predict(setup.network, social(setup, world), inputs),
        )
        least = [min(found) for found in zip(*([seconds(way) for way in ways] for _ in range(3)), strict=True)]
        many = len(distinct(social(setup, world).mean)[0])
        print(
            f"{rule:13} {many:3} of {asked.clients} differ: {least[0]:.3f} s, all asked {least[1]:.3f} s, "
            f"{least[1] / least[0]:.1f} times",
            flush=True,
        )


def seconds(work: Callable[[], torch.Tensor]) -> float:
    """How long it takes until its numbers are there."""
    begun = time.perf_counter()
    work().sum().item()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
