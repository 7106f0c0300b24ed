"""Do stds mean something? How many of them honest parties are apart, and liars from honest ones, by way of learning.

    python benchmarks/stds.py [--rounds 1200] [--seed 1]

The digits, 20 clients, 8 of them flipping labels, everybody learning alone. For each pair of clients and each weight,
z = (mean_i - mean_j) / sqrt(std_i^2 + std_j^2). If a std were what another sample of the same kind would change, z
would be 1 on average (root mean square), and 5 % of the weights would be beyond 2. sorted: for how many of the 12
honest clients every honest other is nearer than every liar, by the root mean square and by the farthest weight.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from surefed.core import Belief
from surefed.sim import Experiment
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round, predictions, social

STAYS = {"prior": "fixed", "prior_std": 0.3}
LEARNERS: dict[str, dict[str, Any]] = {
    "Adam, the prior is the last belief": {"kind": "variational"},
    "Adam, prior N(0, 0.3^2)": {"kind": "variational", **STAYS},
    "Adam, prior N(0, 0.3^2), a tenth of the KL": {"kind": "variational", **STAYS, "kl_scale": 0.1},
    "IVON, prior N(0, 0.3^2), a tenth of the KL": {"kind": "ivon", **STAYS, "kl_scale": 0.1},
    "IVON, the same, twice the rate": {"kind": "ivon", **STAYS, "kl_scale": 0.1, "learning_rate": 0.02},
}
SIZES: dict[str, Callable[[Tensor], Tensor]] = {
    "rms": lambda z: z.square().mean(-1).sqrt(),
    "beyond": lambda z: (z.abs() > 2).double().mean(-1),
    "farthest": lambda z: z.abs().amax(-1),
}


class Apart(NamedTuple):
    """A size of z: between honest clients, between them and liars, and for how many of them it sorts the two."""

    honest: float
    liars: float
    sorts: int


def apart(belief: Belief, honest: Tensor) -> dict[str, Apart]:
    """Every size of z."""
    mean, variance = belief.mean.double(), belief.std.double().square()
    good, bad = honest.nonzero().flatten().tolist(), (~honest).nonzero().flatten().tolist()
    z = [(mean - mean[i]) / (variance + variance[i]).sqrt() for i in good]  # [client, weight] each
    found = {}
    for name, size in SIZES.items():
        ours = [size(one[[j for j in good if j != i]]) for i, one in zip(good, z, strict=True)]
        theirs = [size(one[bad]) for one in z]
        sorts = sum(bool(near.max() < far.min()) for near, far in zip(ours, theirs, strict=True))
        found[name] = Apart(torch.cat(ours).mean().item(), torch.cat(theirs).mean().item(), sorts)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(
        "| | round | accuracy | std, 5th to 95th percentile | z, rms: honest | liars | beyond 2: honest | liars |",
        end="",
    )
    print(" farthest: honest | liars | sorted by rms, farthest |\n|---|--:|--:|---|--:|--:|--:|--:|--:|--:|---|")
    for name, learn in LEARNERS.items():
        told = {"seed": given.seed, "rounds": given.rounds, "learn": learn, "rule": {"name": "local_only"}}
        told |= {"data": {"name": "digits", "clients": 20}, "model": {"name": "mlp"}}
        setup = assemble(Experiment.of({**told, "attack": {"name": "label_flip", "malicious": 0.4}}))
        world, honest = begin(setup), ~setup.malicious
        for round in range(1, given.rounds + 1):
            play_round(setup, world)
            if round * 4 % given.rounds == 0:
                guess = predictions(setup, world, "social", setup.clean.test_inputs).argmax(-1)
                right = (guess == setup.clean.test_labels).double().mean(1)[honest].mean().item()
                belief = social(setup, world)
                low, high = belief.std[honest].quantile(torch.tensor([0.05, 0.95])).tolist()
                rms, beyond, farthest = apart(belief, honest).values()
                print(
                    f"| {name} | {round} | {100 * right:.1f} % | {low:.3f} .. {high:.3f} "
                    f"| {rms.honest:.2f} | {rms.liars:.2f} | {beyond.honest:.1%} | {beyond.liars:.1%} "
                    f"| {farthest.honest:.1f} | {farthest.liars:.1f} | {rms.sorts}, {farthest.sorts} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
