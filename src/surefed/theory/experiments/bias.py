"""Without a defence, biased labels move everybody to theta + c b; c comes out of the matrices, and may be negative."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefed.theory import predict
from surefed.theory.engine import Covariance, Trace, simulate
from surefed.theory.experiments.drawing import BLUE, GREEN, ORANGE, PINK, SKY, canvas, legend, name
from surefed.theory.features import dense, one_hot, powers
from surefed.theory.fit import Estimate, average
from surefed.theory.report import Experiment, Finding, Report, Tell
from surefed.theory.settings import Settings
from surefed.theory.world import Schedule, World, complete, horizontal, make, matchings, mixed, ring, star

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLIENTS, MALICIOUS, BIAS = 8, 3, 2.0


@dataclass(frozen=True, slots=True)
class Case:
    """A federation under attack."""

    title: str
    world: World
    schedule: Schedule
    colour: str
    covariance: Covariance = "full"


def cases() -> list[Case]:
    """Samples, index sets and graphs for which c is all positive, partly zero, and partly negative."""
    noise = torch.linspace(0.5, 1.5, CLIENTS, dtype=torch.float64)
    attacked = partial(make, malicious=MALICIOUS, bias=BIAS)
    some_weights, all_weights = mixed(CLIENTS, 6, 3), horizontal(CLIENTS, 6)
    return [
        Case("dense, all weights, pairs", attacked(all_weights, features=dense()), matchings(CLIENTS), GREEN),
        Case("one-hot, 3 of 6 weights, complete", attacked(some_weights, features=one_hot()), complete(CLIENTS), BLUE),
        Case(
            "dense, 3 of 6 weights, star",
            attacked(some_weights, features=dense(), noise=noise),
            star(CLIENTS),
            PINK,
        ),
        Case("u and u^2, ring", attacked(horizontal(CLIENTS, 2), features=powers()), ring(CLIENTS), ORANGE),
        Case("the second, diagonal", attacked(some_weights), complete(CLIENTS), SKY, "diagonal"),
    ]


def run(settings: Settings, tell: Tell) -> Report:
    """BayP2PFL under biased labels, in five federations."""
    figure, panels = canvas(1, 2, width=5.0, height=4.0)
    findings = []
    ends = [0.0, 0.0]
    for case in cases():
        tell(case.title)
        size = settings if case.covariance == "full" else settings.times(repetitions=1 / 3)
        trace = simulate(case.world, case.schedule, size, rule="bayp2pfl", covariance=case.covariance)
        measured = coefficients(trace)
        predicted = (predict.expected_bias(case.world, case.schedule, settings.rounds).mean(0) / BIAS).tolist()
        limit = predict.bias_limit(case.world, predict.influence(case.schedule, 2))[0] / BIAS
        findings += _findings(case, predicted, measured)
        values = [one.value for one in measured]
        spread = [[one.value - one.low for one in measured], [one.high - one.value for one in measured]]
        panels[0].errorbar(predicted, values, yerr=spread, fmt="o", color=case.colour, markersize=4, label=case.title)
        ends = [min(*ends, *predicted), max(*ends, *predicted)]
        if case.covariance == "full" and case.colour in (PINK, ORANGE):
            _paths(panels[1], case, trace, limit)
    edge = 0.1 * (ends[1] - ends[0])
    panels[0].plot(
        [ends[0] - edge, ends[1] + edge], [ends[0] - edge, ends[1] + edge], color="black", linewidth=0.8, zorder=0
    )
    panels[0].axhspan(ends[0] - edge, 0, color="black", alpha=0.06, linewidth=0)
    name(panels[0], "Every element of c (the paper: all positive)", "predicted from the matrices", "measured")
    legend(panels[0], "upper left")
    panels[1].set_xscale("log")
    panels[1].axhline(0, color="black", linewidth=0.6)
    name(panels[1], "On the way there (dotted: the limit)", "round", "(mean estimate - truth) / b")
    legend(panels[1], "lower left")
    return Report(findings, {"bias": figure})


def coefficients(trace: Trace) -> list[Estimate]:
    """c of every weight: how far the mean over clients is off at the end, in units of b."""
    off = (trace.mean[-1] - trace.world.theta).mean(1) / BIAS  # [repetition, weight]
    return [average(column) for column in off.mT]


def _findings(case: Case, predicted: list[float], measured: list[Estimate]) -> list[Finding]:
    order = sorted(range(len(predicted)), key=lambda k: predicted[k])
    low, high = order[0], order[-1]
    return [
        Finding(
            f"BayP2PFL, {case.title}",
            "smallest element of c",
            predicted[low],
            measured[low],
            "as stated" if measured[low].low > 0 else "not as stated",
        ),
        Finding(f"BayP2PFL, {case.title}", "largest element of c", predicted[high], measured[high]),
    ]


def _paths(panel: Axes, case: Case, trace: Trace, limit: Tensor) -> None:
    paths = (trace.mean - case.world.theta).mean((1, 2)) / BIAS  # [time, weight]
    for weight in range(case.world.weights):
        label = case.title if weight == 0 else None
        panel.plot(trace.times, paths[:, weight], color=case.colour, linewidth=1.3, label=label)
        panel.axhline(float(limit[weight]), color=case.colour, linestyle=":", linewidth=1)


EXPERIMENT = Experiment("bias", "Undefended, biased labels move everybody to theta + c b.", 5, run)
