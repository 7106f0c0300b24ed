"""How wide the band must be for an honest peer to pass on every weight, and what share of agreement restores it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from surefed.core import Belief, generator, rho_of
from surefed.rules import RULES, Receivers
from surefed.theory.experiments.detection import CNN, spaced
from surefed.theory.experiments.drawing import BLUE, GREEN, GREY, ORANGE, PINK, YELLOW, canvas, legend, mark, name
from surefed.theory.fit import share
from surefed.theory.kappa import agreement_for, band_for, pass_chance
from surefed.theory.report import Experiment, Finding, Report, Tell
from surefed.theory.settings import Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (BLUE, ORANGE, GREEN, PINK, YELLOW, GREY)


def run(settings: Settings, tell: Tell) -> Report:
    """The chance that an honest peer passes, by formula and by `rules/surefed.py`; and what restores it."""
    tell("asking rules/surefed.py")
    cases = (
        (1, 4.0, 1.0, 1.0),
        (6, 4.0, 1.0, 1.0),
        (100, 4.0, 1.0, 1.0),
        (1000, 4.0, 1.0, 1.0),
        (1000, 4.0, 0.35, 1.0),
    )
    findings = [_by_rule(*case, settings) for case in cases]
    for weights, kappa in ((1000, 4.0), (1000, 2.0), (10_000, 2.0)):
        findings.append(_by_rule(weights, kappa, 1.0, agreement_for(weights, kappa), settings))
    findings.append(_by_rule(10_000, band_for(10_000), 1.0, 1.0, settings))
    figure, panels = canvas(1, 3, width=4.2, height=3.9)
    _by_kappa(panels[0])
    _by_size(panels[1])
    _by_agreement(panels[2])
    return Report(findings, {"kappa": figure})


def _by_rule(weights: int, kappa: float, peer: float, agreement: float, settings: Settings) -> Finding:
    """Honest peers with normal errors, judged by the rule."""
    peers = 40 * settings.repetitions if weights <= 1000 else 4 * settings.repetitions
    rng = generator(settings.seed, "theory kappa", (weights, kappa, peer, agreement))
    rule = RULES["surefed"](kappa=kappa, heading="off", std_floor=0.0, std_ceiling=0.0, agreement=agreement)
    errors = torch.from_numpy(rng.standard_normal((peers, weights)))
    own = torch.from_numpy(rng.standard_normal((peers, weights)))
    local = Belief(own, rho_of(torch.ones_like(own)))
    sent = Belief(peer * errors, rho_of(torch.full_like(own, max(peer, 0.1))))
    trusted = []
    block = max(1, min(50, 20_000 // weights))
    for at in range(0, peers, block):  # each receiver judges one sender of its own
        rows = slice(at, at + block)
        count = len(own[rows])
        receivers = Receivers(local[rows], 0, 1, local=local[rows], local_learns=torch.ones(count, dtype=torch.bool))
        hears = torch.eye(count, dtype=torch.bool)
        outcome = rule.step(receivers, sent[rows], hears, rule.init(count, count, sent.weights))
        trusted.append(outcome.inspection.trusted.diagonal())
    says = f"K = {weights}, kappa = {kappa:.3g}, peer's std {peer:g}"
    if agreement < 1:
        says += f", agreement {agreement:.5g}"
    chance = pass_chance(weights, kappa, peer, agreement)
    stated = agreement == 1 and kappa == 4 and peer == 1  # of which the paper says 0.999, and for all weights
    return Finding(
        f"an honest peer, {says}",
        "chance to be trusted",
        chance,
        share(torch.cat(trusted)),
        "not as stated" if stated else "not stated",
    )


def _by_kappa(panel: Axes) -> None:
    kappas = np.linspace(0.5, 9, 120)
    for weights, colour in zip((6, 1000, CNN, 10**6, 10**9), COLOURS, strict=False):
        title = f"K = {spaced(weights)}"
        panel.plot(kappas, [pass_chance(weights, k, 1.0) for k in kappas], color=colour, label=title)
        panel.plot(kappas, [pass_chance(weights, k, 0.0) for k in kappas], color=colour, linestyle=":")
    mark(panel, 2, "kappa of the paper's runs")
    name(panel, "An honest peer passes (dotted: peer's std 0)", "kappa", "chance")
    legend(panel, "below")


def _by_size(panel: Axes) -> None:
    sizes = np.unique(np.geomspace(1, 1e9, 60).astype(np.int64))
    for peer, colour in zip((0.0, 0.5, 1.0, 2.0), COLOURS, strict=False):
        panel.semilogx(sizes, [band_for(int(k), 0.95, peer) for k in sizes], color=colour, label=f"peer's std {peer:g}")
    mark(panel, CNN, "the paper's CNN")
    panel.set_ylim(bottom=0)
    name(panel, "kappa for 95 % of honest peers", "weights K", "kappa")
    legend(panel, "below")


def _by_agreement(panel: Axes) -> None:
    kappas = np.linspace(1, 6.5, 60)
    for weights, colour in zip((1000, CNN, 10**7), COLOURS, strict=False):
        tolerated = [1 - agreement_for(weights, k) for k in kappas]
        panel.semilogy(
            kappas, np.where(np.array(tolerated) > 0, tolerated, np.nan), color=colour, label=f"K = {spaced(weights)}"
        )
    panel.set_ylim(1e-7, 1)
    name(panel, "Agreement that restores 95 %, peer's std 1", "kappa", "1 - agreement")
    legend(panel, "below")


EXPERIMENT = Experiment("kappa", "The chance that an honest peer passes a band on every weight.", 1, run)
