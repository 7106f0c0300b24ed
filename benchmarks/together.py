"""What learning local beliefs once saves: five cells one after another, and the same together.

    python benchmarks/together.py [--rounds 20] [--clients 10] [--passes 3] [--device cpu]

SureFED with the paper's CNN on MNIST by writer (`surefed data get mnist`), under none and four attacks that poison no
data. Seconds of whole runs, records and two evaluations included, in passes that take turns.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from surefed.sim import Experiment, run, run_together

ATTACKS = ("none", "sign_flip", "general_random", "gaussian", "alie")


def cells(rounds: int, clients: int) -> dict[str, Experiment]:
    data = {"name": "mnist", "clients": clients, "partition": "natural", "test": "cut", "test_share": 0.1}
    plan = {"rounds": rounds, "data": data, "model": {"name": "cnn"}, "checkpoint_every": rounds}
    plan |= {"evaluate": {"every": rounds}, "rule": {"name": "surefed"}}
    return {name: Experiment.of({**plan, "attack": {"name": name, "malicious": 0.4}}) for name in ATTACKS}


def seconds(play: Callable[[Path], object]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        play(Path(folder))
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    grid = cells(given.rounds, given.clients)

    def alone(folder: Path) -> None:
        for name, experiment in grid.items():
            run(experiment, out=folder / name, device=given.device)

    def together(folder: Path) -> None:
        ended = run_together({folder / name: one for name, one in grid.items()}, device=given.device)
        for end in ended.values():
            if isinstance(end, Exception):
                raise end

    print("| pass | one after another | together | ratio |\n|---|--:|--:|--:|")
    for at in range(given.passes):
        one, all_ = seconds(alone), seconds(together)
        print(f"| {at + 1} | {one:.1f} s | {all_:.1f} s | {one / all_:.2f} |", flush=True)


if __name__ == "__main__":
    main()
