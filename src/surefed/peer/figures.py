"""What a site can measure by itself after a round, in the words of the simulator's records."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

import torch

from surefed.learn import Figure
from surefed.peer.lone import Lone
from surefed.peer.verdict import Verdict
from surefed.rules import Inspection


@torch.no_grad()
def measured(lone: Lone) -> dict[str, Any]:
    """Accuracy and loss of the site's beliefs on the samples it holds out."""
    setup = lone.setup
    likelihood, inputs, labels = setup.network.likelihood, setup.clean.test_inputs, setup.clean.test_labels
    predicted = lone.predictions("social", inputs)
    figures: dict[str, Any] = {name: _one(figure) for name, figure in likelihood.figures(predicted, labels).items()}
    figures["loss"] = _one(Figure(likelihood.losses(predicted, labels).mean(-1), "lower"))
    if "local" in setup.groups:
        alone = likelihood.figures(lone.predictions("local", inputs), labels)
        figures |= {f"local_{name}": _one(figure) for name, figure in alone.items()}
        figures["local_learning"] = int(lone.world.watch.learning.sum())
    return figures


def trust(lone: Lone, inspection: Inspection, found: Mapping[str, Verdict]) -> dict[str, Any]:
    """How much of what was heard was trusted. Nobody knows who is malicious, so all neighbours count as honest."""
    heard = [one for one in found.values() if one.verdict in ("trusted", "distrusted")]
    shares = [one.verdict == "trusted" for one in heard]
    outside = [one.outside for one in heard if one.outside is not None]
    figures: dict[str, Any] = {
        "trusted": {
            "honest": round(sum(shares) / len(shares), 6) if shares else None,
            "malicious": None,
            "self": float(inspection.trusted[0, lone.at]),
            "nobody": int(not inspection.trusted[0].any()),
        },
        "detection": {"precision": None, "recall": None},
    }
    if inspection.outside is not None:
        figures["outside"] = {"honest": float(median(outside)) if outside else None, "malicious": None}
    if inspection.overwritten is not None:
        figures["overwritten"] = float(inspection.overwritten[0])
    return figures


def _one(figure: Figure) -> dict[str, float | None]:
    """One site's figure is both the mean and the worst."""
    value = round(float(figure.values[0]), 6)
    return {"mean": value, "worst": value, "malicious": None}
