"""Each assumption dropped in turn, those of the paper and those it does not name: the failure that is predicted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefed.theory import predict
from surefed.theory.engine import Trace, simulate
from surefed.theory.experiments import missing
from surefed.theory.experiments.drawing import BLUE, ORANGE, band, canvas, legend, level, name
from surefed.theory.features import dense, together
from surefed.theory.fit import average, share, slope
from surefed.theory.report import Experiment, Finding, Report, Tell
from surefed.theory.settings import Settings
from surefed.theory.world import complete, fixed, horizontal, index_sets, make

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def run(settings: Settings, tell: Tell) -> Report:
    """The three assumptions of the paper; then rare meetings, a narrow prior, correlations and mutual rejection."""
    parts: list[tuple[str, Callable[[Settings, Axes], list[Finding]]]] = [
        ("sufficiency", sufficiency),
        ("sufficiency in index sets only", one_direction),
        ("connectivity", connectivity),
        ("joint learning", joint_learning),
        ("rare meetings", missing.rare_meetings),
        ("a prior that leaves out the truth", missing.narrow_prior),
        ("correlations thrown away", missing.correlations),
        ("mutual rejection", missing.mutual_rejection),
        ("random index sets", missing.random_sets),
    ]
    figure, panels = canvas(3, 3, width=4.2, height=3.4)
    findings = []
    for panel, (title, part) in zip(panels, parts, strict=True):
        tell(title)
        findings += part(settings, panel)
        legend(panel)
    return Report(findings, {"assumptions": figure})


def _stays(about: str, trace: Trace, errors: Tensor, plateau: float, settings: Settings) -> list[Finding]:
    fitted = slope(trace.times, errors, since=int(trace.times[-1]) / 5, seed=settings.seed)
    return [
        Finding(about, "slope of the error", 0.0, fitted),
        Finding(about, "error at the end", plateau, average(errors[-1])),
    ]


def sufficiency(settings: Settings, panel: Axes) -> list[Finding]:
    """Only the liar observes weight 2: once it is cut off, nothing more is learned about it, and its bias stays."""
    world = make(index_sets({0}, {0, 1}, {0, 1, 2}, weights=3), malicious=1, bias=2.0, sufficient=False)
    trace = simulate(world, complete(3), settings.times(repetitions=1 / 2))
    learned, frozen = trace.off(0, 1), trace.off(0, 2)
    plateau = float(predict.bias_limit(world, predict.influence(complete(3)))[0, 2] ** 2)
    band(panel, trace.times, learned, BLUE, "weight observed by an honest client")
    band(panel, trace.times, frozen, ORANGE, "weight observed by the liar only")
    level(panel, plateau, "predicted: (c b)^2")
    name(panel, "No sufficiency", "round", "squared error")
    return _stays("no sufficiency, SureFED", trace, frozen, plateau, settings)


def one_direction(settings: Settings, panel: Axes) -> list[Finding]:
    """The index sets cover the weights, but samples show only their sum: the rest stays at the prior mean, 0."""
    world = make(horizontal(3, 2), features=together())
    trace = simulate(world, complete(3), settings.times(1 / 2, 1 / 2))
    plateau = float((world.theta - world.theta.mean()).square().sum())
    band(panel, trace.times, trace.error(), ORANGE, "samples (1, 1)")
    other = simulate(replace(world, features=dense()), complete(3), settings.times(1 / 2, 1 / 2))
    band(panel, other.times, other.error(), BLUE, "samples in all directions")
    level(panel, plateau, "predicted: what no sample shows")
    name(panel, "Weights covered, directions not", "round", "mean square error")
    findings = _stays("index sets cover, samples in one direction, SureFED", trace, trace.error(), plateau, settings)
    return [replace(one, paper="not as stated") for one in findings]


def connectivity(settings: Settings, panel: Axes) -> list[Finding]:
    """Two halves that never talk and observe half of the weights each: the rest stays at the prior mean, 0."""
    observes = index_sets({0, 1}, {0, 1}, {2, 3}, {2, 3}, weights=4)
    world = make(observes)
    halves = fixed(torch.block_diag(torch.ones(2, 2), torch.ones(2, 2)).bool())
    trace = simulate(world, halves, settings.times(repetitions=1 / 2))
    apart = trace.error(torch.tensor([0, 1]))
    plateau = float(world.theta[2:].square().sum())
    together = simulate(world, complete(4), settings.times(repetitions=1 / 2))
    band(panel, together.times, together.error(torch.tensor([0, 1])), BLUE, "connected")
    band(panel, trace.times, apart, ORANGE, "two halves")
    level(panel, plateau, "predicted: prior mean against the truth")
    name(panel, "No connectivity", "round", "mean square error")
    return _stays("no connectivity, SureFED", trace, apart, plateau, settings)


def joint_learning(settings: Settings, panel: Axes) -> list[Finding]:
    """Client 0 shares no weight with the liar and goes on hearing it; client 1, who does, cuts it off."""
    world = make(index_sets({0}, {0, 1}, {1}, weights=2), malicious=1, bias=2.0)
    trace = simulate(world, complete(3), settings.times(1 / 2))
    trust = torch.tensor([[True, True, True], [False, True, False], [False, False, True]])
    predicted = float(predict.bias_limit(world, predict.influence(fixed(trust)))[0, 1])
    heard = trace.trusted[-1][:, 0, 2]
    off = trace.mean[-1, :, 0, 1] - world.theta[1]
    band(panel, trace.times, trace.off(0, 1), ORANGE, "client 0, shares nothing with the liar")
    band(panel, trace.times, trace.off(1, 1), BLUE, "client 1, observes the weight itself")
    level(panel, predicted**2, "predicted: (c b)^2 with client 0 between the two")
    name(panel, "No joint learning", "round", "squared error on the liar's weight")
    about = "no joint learning, SureFED"
    return [
        Finding(about, "clients that share nothing and still hear the liar, share", None, share(heard)),
        Finding(
            about, "clients that share a weight and still hear the liar, share", 0.0, share(trace.trusted[-1][:, 1, 2])
        ),
        Finding(about, "bias of those who hear it", predicted, average(off[heard])),
    ]


EXPERIMENT = Experiment("assumptions", "Each assumption dropped fails as predicted; and some are missing.", 9, run)
