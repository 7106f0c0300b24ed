"""What is worth knowing after a round, honest and malicious clients kept apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from surefed.core import Belief
from surefed.learn import accuracy, log_loss, predict
from surefed.rules import Inspection
from surefed.sim.engine import World, local, social
from surefed.sim.setup import Setup


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of a round, and the arrays behind them."""

    figures: dict[str, Any]
    arrays: dict[str, np.ndarray[Any, Any]]


def evaluate(setup: Setup, world: World, inspection: Inspection) -> Evaluation:
    """Measure the round that was just played."""
    belief, labels = social(setup, world), setup.clean.test_labels
    probabilities = predict(setup.network, belief, setup.clean.test_inputs)
    right = accuracy(probabilities, labels)
    figures: dict[str, Any] = {
        "round": world.round,
        "accuracy": _summary(right, setup.malicious),
        "loss": _summary(log_loss(probabilities, labels), setup.malicious, worst=torch.max),
    }
    if setup.experiment.evaluate.draws:
        figures["accuracy_of_draws"] = _summary(_accuracy_of_draws(setup, belief, world.round), setup.malicious)
    mine = local(setup, world)
    if mine is not None:
        alone = accuracy(predict(setup.network, mine, setup.clean.test_inputs), labels)
        figures["local_accuracy"] = _summary(alone, setup.malicious)
        figures["local_learning"] = int(world.watch.learning.sum())
    if setup.attack.trigger is not None:
        figures["backdoor"] = backdoor(setup, belief, mine)
    edges = setup.graph.edges(world.round - 1).to(setup.device)
    figures["trusted"] = {
        "honest": _share(inspection.trusted, edges, setup.malicious, of=~setup.malicious),
        "malicious": _share(inspection.trusted, edges, setup.malicious, of=setup.malicious),
        "self": _mean(inspection.trusted.diagonal()[~setup.malicious].float()),
        "nobody": int((~inspection.trusted.any(1))[~setup.malicious].sum()),
    }
    arrays = {"trusted": inspection.trusted, "edges": edges, "accuracy": right, "malicious": setup.malicious}
    if inspection.outside is not None:
        figures["outside"] = {
            "honest": _middle(inspection.outside, edges, setup.malicious, of=~setup.malicious),
            "malicious": _middle(inspection.outside, edges, setup.malicious, of=setup.malicious),
        }
    if inspection.overwritten is not None:
        figures["overwritten"] = _mean(inspection.overwritten[~setup.malicious].float())
    for name in ("outside", "worst", "sigmas", "overwritten"):
        value = getattr(inspection, name)
        if value is not None:
            arrays[name] = value
    return Evaluation(figures, {name: value.cpu().numpy() for name, value in arrays.items()})


def backdoor(setup: Setup, belief: Belief, mine: Belief | None) -> dict[str, float | None]:
    """How often honest clients take a stamped test image, not of the target class, for the target class.

    worst is the most fooled honest client. floor is the same for the honest clients' local beliefs, which nobody
    attacks, where the rule trains them: what remains without a backdoor.
    """
    trigger, clean = setup.attack.trigger, setup.clean
    assert trigger is not None
    others = clean.test_labels != trigger.target
    stamped = trigger.stamp(clean.test_inputs[others], setup.experiment.data.background)
    wanted = torch.full_like(clean.test_labels[others], trigger.target)
    fooled = accuracy(predict(setup.network, belief, stamped), wanted)[~setup.malicious]
    floor = None
    if mine is not None:
        floor = _mean(accuracy(predict(setup.network, mine, stamped), wanted)[~setup.malicious])
    return {"mean": _mean(fooled), "worst": round(float(fooled.max()), 6), "floor": floor}


def _accuracy_of_draws(setup: Setup, belief: Belief, round: int) -> Tensor:
    draws = setup.experiment.evaluate.draws
    drawn = predict(
        setup.network, belief, setup.clean.test_inputs, draws=draws, noise=setup.streams["draws"], round=round
    )
    return accuracy(drawn, setup.clean.test_labels)


def _summary(values: Tensor, malicious: Tensor, worst: Any = torch.min) -> dict[str, float | None]:
    """Mean and worst honest client, and the mean malicious one."""
    honest = values[~malicious]
    return {
        "mean": _mean(honest),
        "worst": round(float(worst(honest)), 6),
        "malicious": _mean(values[malicious]),
    }


def _between(values: Tensor, edges: Tensor, malicious: Tensor, of: Tensor) -> Tensor:
    """Values on the edges into honest receivers from the senders marked in `of`, self-loops left out."""
    honest = ~malicious[:, None] & of[None, :] & edges
    return values[honest & ~torch.eye(len(edges), dtype=torch.bool, device=edges.device)]


def _share(values: Tensor, edges: Tensor, malicious: Tensor, of: Tensor) -> float | None:
    return _mean(_between(values, edges, malicious, of).float())


def _middle(values: Tensor, edges: Tensor, malicious: Tensor, of: Tensor) -> float | None:
    chosen = _between(values, edges, malicious, of)
    return float(chosen.float().median()) if chosen.numel() else None


def _mean(values: Tensor) -> float | None:
    """The mean, or None where there is nothing to take it of."""
    return round(float(values.double().mean()), 6) if values.numel() else None
