"""What is worth knowing after a round, honest and malicious clients kept apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from surefed.learn import Figure, accuracy
from surefed.rules import Inspection
from surefed.sim.engine import predictions
from surefed.sim.setup import Group, Setup
from surefed.sim.world import World


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of a round, and the arrays behind them."""

    figures: dict[str, Any]
    arrays: dict[str, np.ndarray[Any, Any]]


def evaluate(setup: Setup, world: World, inspection: Inspection) -> Evaluation:
    """Measure the round that was just played."""
    likelihood, labels, inputs = setup.network.likelihood, setup.clean.test_labels, setup.clean.test_inputs
    predicted = predictions(setup, world, "social", inputs)
    merit = likelihood.figures(predicted, labels)
    figures: dict[str, Any] = {"round": world.round}
    figures |= {name: _summary(figure, setup.malicious) for name, figure in merit.items()}
    figures["loss"] = _summary(Figure(likelihood.losses(predicted, labels).mean(-1), "lower"), setup.malicious)
    if setup.experiment.evaluate.draws:
        drawn = predictions(setup, world, "social", inputs, draws=setup.experiment.evaluate.draws)
        for name, figure in likelihood.figures(drawn, labels).items():
            figures[f"{name}_of_draws"] = _summary(figure, setup.malicious)
    if "local" in setup.groups:
        for name, figure in likelihood.figures(predictions(setup, world, "local", inputs), labels).items():
            figures[f"local_{name}"] = _summary(figure, setup.malicious)
        figures["local_learning"] = int(world.watch.learning.sum())
    if setup.attack.trigger is not None:
        figures["backdoor"] = backdoor(setup, world)
    edges = setup.graph.edges(world.round - 1).to(setup.device)
    figures["trusted"] = {
        "honest": _share(inspection.trusted, edges, setup.malicious, of=~setup.malicious),
        "malicious": _share(inspection.trusted, edges, setup.malicious, of=setup.malicious),
        "self": _mean(inspection.trusted.diagonal()[~setup.malicious].float()),
        "nobody": int((~inspection.trusted.any(1))[~setup.malicious].sum()),
    }
    figures["detection"] = _detection(inspection.trusted, edges, setup.malicious)
    arrays = {"trusted": inspection.trusted, "edges": edges}
    arrays |= {name: figure.values for name, figure in merit.items()}
    arrays["malicious"] = setup.malicious
    for name in ("outside", "heading"):
        if (value := getattr(inspection, name)) is not None:
            figures[name] = {
                "honest": _middle(value, edges, setup.malicious, of=~setup.malicious),
                "malicious": _middle(value, edges, setup.malicious, of=setup.malicious),
            }
    if inspection.overwritten is not None:
        figures["overwritten"] = _mean(inspection.overwritten[~setup.malicious].float())
    if inspection.told is not None and inspection.used is not None:
        figures["bound"] = _bound(inspection.told[~setup.malicious], inspection.used[~setup.malicious])
    for name in ("outside", "worst", "sigmas", "heading", "fault", "overwritten"):
        value = getattr(inspection, name)
        if value is not None:
            arrays[name] = value
    return Evaluation(figures, {name: value.cpu().numpy() for name, value in arrays.items()})


def backdoor(setup: Setup, world: World) -> dict[str, float | None]:
    """How often honest clients take a stamped test image, not of the target class, for the target class.

    worst is the most fooled honest client. floor is the same for the honest clients' local beliefs, which nobody
    attacks, where the rule trains them: what remains without a backdoor.
    """
    trigger, clean = setup.attack.trigger, setup.clean
    assert trigger is not None
    others = clean.test_labels != trigger.target
    stamped = trigger.stamp(clean.test_inputs[others], clean.background)
    wanted = torch.full_like(clean.test_labels[others], trigger.target)

    def fooled(group: Group) -> Tensor:
        return accuracy(predictions(setup, world, group, stamped), wanted)[~setup.malicious]

    social = fooled("social")
    floor = _mean(fooled("local")) if "local" in setup.groups else None
    return {"mean": _mean(social), "worst": round(float(social.max()), 6), "floor": floor}


def _detection(trusted: Tensor, edges: Tensor, malicious: Tensor) -> dict[str, float | None]:
    """How well distrust finds the malicious, over all pairs of an honest client and a neighbour.

    precision: share of the distrusted that are malicious. recall: share of the malicious that are distrusted.
    """
    bad = malicious.expand_as(edges)
    left_out = _between(bad.float(), edges & ~trusted, malicious, of=torch.ones_like(malicious))
    return {"precision": _mean(left_out), "recall": _share(~trusted, edges, malicious, of=malicious)}


def _bound(told: Tensor, used: Tensor) -> dict[str, int]:
    """The honest client whose rule was told of the most malicious ones beyond its bound, and how many were cut."""
    worst = int((told - used).argmax())
    return {"told": int(told[worst]), "used": int(used[worst]), "cut": int((used < told).sum())}


def _summary(figure: Figure, malicious: Tensor) -> dict[str, float | None]:
    """Mean and worst honest client, and the mean malicious one."""
    honest = figure.values[~malicious]
    worst = honest.min() if figure.better == "higher" else honest.max()
    return {"mean": _mean(honest), "worst": round(float(worst), 6), "malicious": _mean(figure.values[malicious])}


def _between(values: Tensor, edges: Tensor, malicious: Tensor, of: Tensor) -> Tensor:
    """Values on the edges into honest receivers from the senders marked in `of`, self-loops left out."""
    honest = ~malicious[:, None] & of[None, :] & edges
    return values[honest & ~torch.eye(len(edges), dtype=torch.bool, device=edges.device)]


def _share(values: Tensor, edges: Tensor, malicious: Tensor, of: Tensor) -> float | None:
    return _mean(_between(values, edges, malicious, of).float())


def _middle(values: Tensor, edges: Tensor, malicious: Tensor, of: Tensor) -> float | None:
    chosen = _between(values, edges, malicious, of)
    return round(float(chosen.float().median()), 6) if chosen.numel() else None


def _mean(values: Tensor) -> float | None:
    """The mean, or None where there is nothing to take it of."""
    return round(float(values.double().mean()), 6) if values.numel() else None
