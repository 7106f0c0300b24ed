"""General Random: how likely it is that a receiver observes a weight that was blown up; the paper's two figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from surefed.core import Belief, generator, rho_of
from surefed.rules import RULES, Receivers
from surefed.theory.detection import detection, log_miss, never_missed, simulated
from surefed.theory.experiments.drawing import BLUE, GREEN, GREY, ORANGE, PINK, YELLOW, canvas, legend, mark, name
from surefed.theory.fit import share
from surefed.theory.report import Experiment, Finding, Report, Tell
from surefed.theory.settings import Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (BLUE, ORANGE, GREEN, PINK, YELLOW, GREY)
SHARES = ((1e-4, 1e-4), (1e-3, 1e-3), (5e-4, 0.01), (5e-4, 0.1), (0.01, 0.1))
"""Share of weights tampered with and observed; 5e-4 is what the attack's source uses."""
MILLION = 10**6
CNN = 97_982


def run(settings: Settings, tell: Tell) -> Report:
    """The formula, drawn balls, and the rule itself; then what it takes over many pairs and rounds."""
    tell("drawing weights")
    trials = 200 * settings.repetitions
    rng = generator(settings.seed, "theory detection")
    findings = []
    for weights, observed, tampered in (
        (20, 4, 3),
        (1000, 30, 20),
        (CNN, 980, 49),
        (MILLION, 1000, 500),
        (999_999_999, 30_000, 30_000),
    ):
        hits = torch.from_numpy(simulated(weights, observed, tampered, trials, rng))
        about = f"{spaced(weights)} weights, {spaced(observed)} observed, {spaced(tampered)} tampered with"
        findings.append(Finding(about, "chance of detection", detection(weights, observed, tampered), share(hits)))
    tell("asking rules/surefed.py")
    findings += [_by_rule(factor, trials, settings.seed) for factor in (-10.0, -1e20)]
    findings.append(_never(settings))
    figure, panels = canvas(1, 3, width=4.2, height=3.9)
    _over_size(panels[0], settings)
    _over_share(panels[1])
    _needed(panels[2])
    return Report(findings, {"detection": figure})


def spaced(count: int) -> str:
    """A large number for people."""
    return f"{count:,}".replace(",", " ")


def _by_rule(factor: float, trials: int, seed: int) -> Finding:
    """What the rule decides: 40 weights, 6 observed, 5 multiplied; the others are judged by a prior of std 10."""
    weights, observed, tampered = 40, 6, 5
    rng = generator(seed, "theory detection rule")
    picks = torch.from_numpy(rng.random((trials, weights))).argsort(1)[:, :tampered]
    truth = torch.ones(weights, dtype=torch.float64)
    sent = truth.repeat(trials, 1).scatter_reduce_(
        1, picks, torch.full(picks.shape, factor, dtype=torch.float64), reduce="prod"
    )
    std = torch.where(torch.arange(weights) < observed, 0.01, 10.0).double()[None]
    local = Belief(torch.where(std < 1, truth, 0.0), rho_of(std))
    at = Receivers(local, 0, 1, local=local, local_learns=torch.ones(1, dtype=torch.bool))
    messages = Belief(sent, rho_of(torch.full_like(sent, 0.01)))
    hears = torch.ones(1, trials, dtype=torch.bool)
    rule = RULES["surefed"](kappa=4.0, heading="off", std_floor=0.0, std_ceiling=0.0)
    trusted = rule.step(at, messages, hears, rule.init(1, trials, messages.weights)).inspection.trusted[0]
    caught_by_prior = abs(factor) > 4 * 10
    return Finding(
        f"rules/surefed.py, 40 weights, 6 observed, 5 multiplied by {factor:g}",
        "share of liars refused",
        1.0 if caught_by_prior else detection(weights, observed, tampered),
        share(~trusted),
        "not as stated" if caught_by_prior else "as stated",
    )


def _never(settings: Settings) -> Finding:
    """20 liars, 30 honest clients, 1000 rounds, 1 % of the paper's CNN observed, one weight in 2000 multiplied."""
    observed, tampered, pairs, rounds = CNN // 100, 49, 600, 1000
    rng = generator(settings.seed, "theory detection never")
    runs = 5 * settings.repetitions
    miss = 1 - detection(CNN, observed, tampered)
    missed = torch.from_numpy(rng.binomial(pairs * rounds, miss, runs) > 0)
    return Finding(
        "the paper's CNN, 1 % observed, 600 pairs, 1000 rounds",
        "chance that no lie is ever missed",
        never_missed(CNN, observed, tampered, pairs * rounds),
        share(~missed),
        "not as stated",
    )


def _over_size(panel: Axes, settings: Settings) -> None:
    sizes = np.unique(np.geomspace(10, 1e9, 60).astype(np.int64))
    rng = generator(settings.seed, "theory detection figure")
    for (tampered, observed), colour in zip(SHARES, COLOURS, strict=False):
        chances = [detection(int(k), round(observed * k), round(tampered * k)) for k in sizes]
        panel.semilogx(sizes, chances, color=colour, label=f"C = {tampered:g}, L = {observed:g}")
        few = sizes[5::9][:-1]
        drawn = [simulated(int(k), round(observed * k), round(tampered * k), 2000, rng).mean() for k in few]
        panel.plot(few, drawn, color=colour, linestyle="none", marker="o", markersize=3.5)
    name(panel, "By size of the model (dots: drawn)", "weights K", "chance of detection")
    legend(panel, "below")


def _over_share(panel: Axes) -> None:
    shares = np.geomspace(1e-6, 1e-2, 60)
    for observed, colour in zip((1e-5, 1e-4, 1e-3, 1e-2, 1e-1), COLOURS, strict=False):
        chances = [detection(MILLION, round(observed * MILLION), round(c * MILLION)) for c in shares]
        panel.semilogx(shares, chances, color=colour, label=f"L = {observed:g}")
    mark(panel, 5e-4, "the attack's share")
    name(panel, "One million weights", "share tampered with, C", "chance of detection")
    legend(panel, "below")


def _needed(panel: Axes) -> None:
    """The share of weights that must be observed so that no lie is missed in so many looks, with a chance of 99 %."""
    looks = np.geomspace(1, 1e8, 40)
    for weights, colour in zip((10_000, CNN, MILLION, 10**7), COLOURS, strict=False):
        tampered = round(5e-4 * weights)
        panel.loglog(
            looks,
            [observed_for(weights, tampered, 0.01 / n) for n in looks],
            color=colour,
            label=f"K = {spaced(weights)}",
        )
    mark(panel, 600 * 1000, "600 pairs, 1000 rounds")
    name(panel, "What it takes never to miss (99 %, C = 5e-4)", "looks: pairs x rounds", "share to be observed, L")
    legend(panel, "below")


def observed_for(weights: int, tampered: int, miss: float) -> float:
    """The smallest share of the weights that a receiver must observe to miss a lie with at most this chance."""
    low, high = 0, weights
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if log_miss(weights, middle, tampered) <= np.log(miss) else (middle, high)
    return high / weights


EXPERIMENT = Experiment("detection", "A lie about random weights is detected with probability almost 1.", 2, run)
