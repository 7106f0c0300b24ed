"""Without lies, the error of every client falls as 1/t, with the constant that the matrices give."""

from __future__ import annotations

import torch

from surefed.theory import predict
from surefed.theory.engine import RuleName, Trace, simulate
from surefed.theory.experiments.drawing import BLUE, ORANGE, SKY, band, canvas, legend, name, prediction, some
from surefed.theory.features import dense, one_hot
from surefed.theory.fit import average, ratio, slope
from surefed.theory.report import Experiment, Finding, Paper, Report, Tell
from surefed.theory.settings import Settings
from surefed.theory.world import Schedule, World, complete, make, matchings, mixed, ring

CLIENTS, WEIGHTS, OBSERVED = 8, 6, 3
GRAPHS = {"complete graph": complete(CLIENTS), "ring": ring(CLIENTS), "pairs, never connected": matchings(CLIENTS)}
RULES: dict[RuleName, tuple[str, str, str]] = {
    "bayp2pfl": ("BayP2PFL", ORANGE, "-"),
    "surefed": ("SureFED", BLUE, "--"),
}


def world(kind: str = "dense") -> World:
    """Eight clients that observe three of six weights each, with label noise from 0.5 to 1.5."""
    noise = torch.linspace(0.5, 1.5, CLIENTS, dtype=torch.float64)
    return make(mixed(CLIENTS, WEIGHTS, OBSERVED), noise=noise, features=dense(0.5) if kind == "dense" else one_hot())


def run(settings: Settings, tell: Tell) -> Report:
    """Both rules on three graphs with full covariances, and SureFED through `rules/surefed.py` with diagonal ones."""
    figure, panels = canvas(1, 4, width=3.7)
    findings = []
    for panel, (graph, schedule) in zip(panels, GRAPHS.items(), strict=False):
        traces: dict[str, Trace] = {}
        for rule, (title, colour, style) in RULES.items():
            tell(f"{title}, {graph}")
            trace = simulate(world(), schedule, settings, rule=rule)
            traces[rule] = trace
            band(panel, trace.times, trace.error(), colour, title, style)
            findings += _findings(f"{title}, {graph}", trace, schedule, settings)
        findings.append(_faster(graph, traces))
        few = some(traces["surefed"].times)
        curve = torch.stack([predict.expected_error(world(), schedule, int(t)).mean() for t in few])
        prediction(panel, few, curve, "predicted from the matrices")
        name(panel, graph, "round", "mean square error")
        legend(panel)
    tell("SureFED by rules/surefed.py, diagonal")
    trace = simulate(world("one-hot"), GRAPHS["ring"], settings.times(repetitions=1 / 3), covariance="diagonal")
    findings += _findings("SureFED, ring, diagonal covariance, one-hot samples", trace, GRAPHS["ring"], settings)
    few = some(trace.times)
    band(panels[3], trace.times, trace.error(), SKY, "SureFED, by rules/surefed.py")
    curve = torch.stack([predict.expected_error(trace.world, GRAPHS["ring"], int(t)).mean() for t in few])
    prediction(panels[3], few, curve, "predicted from the matrices")
    name(panels[3], "ring, diagonal covariance", "round", "mean square error")
    legend(panels[3])
    return Report(findings, {"learning": figure})


def _findings(about: str, trace: Trace, schedule: Schedule, settings: Settings) -> list[Finding]:
    rounds = int(trace.times[-1])
    fitted = slope(trace.times, trace.error(), since=rounds / 20, seed=settings.seed)
    expected = rounds * float(predict.expected_error(trace.world, schedule, rounds).mean())
    return [
        Finding(about, "slope of the error", -1.0, fitted),
        Finding(about, f"error x t at t = {rounds}", expected, average(rounds * trace.error()[-1]), "not stated"),
    ]


def _faster(graph: str, traces: dict[str, Trace]) -> Finding:
    found = ratio(traces["surefed"].error()[-1], traces["bayp2pfl"].error()[-1])
    verdict: Paper = "as stated" if found.high < 1 else "not as stated"
    return Finding(f"SureFED against BayP2PFL, {graph}", "ratio of errors, same samples", 1.0, found, verdict)


EXPERIMENT = Experiment("learning", "Without lies the error of every client falls as 1/t.", 7, run)
