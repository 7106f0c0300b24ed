"""SureFED under biased labels, all but one neighbour malicious: the error falls as 1/t all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from surefed.theory import predict
from surefed.theory.engine import Trace, simulate
from surefed.theory.experiments.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    SKY,
    band,
    canvas,
    legend,
    name,
    prediction,
    some,
)
from surefed.theory.features import dense, one_hot
from surefed.theory.fit import average, ratio, slope
from surefed.theory.report import Experiment, Finding, Report, Tell
from surefed.theory.settings import Settings
from surefed.theory.world import World, complete, horizontal, make, restrict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLIENTS, WEIGHTS, MALICIOUS, BIAS, KAPPA = 8, 6, 6, 20.0, 4.0


def world(kind: str = "dense") -> World:
    """Two honest clients and six that add 20 to every label; everybody hears everybody."""
    features = one_hot() if kind == "one-hot" else dense(0.5)
    observes = horizontal(CLIENTS, WEIGHTS)
    if kind == "nested":
        observes[1, 3:] = False
    return make(observes, malicious=MALICIOUS, bias=BIAS, features=features)


def run(settings: Settings, tell: Tell) -> Report:
    """SureFED beside no defence and learning alone; then where one honest client sees half; then the diagonal rule."""
    long, everybody = settings.times(rounds=4), complete(CLIENTS)
    tell("SureFED")
    safe = simulate(world(), everybody, long, kappa=KAPPA)
    tell("the honest by themselves")
    ideal = simulate(world(), restrict(everybody, safe.world.honest), long, rule="bayp2pfl")
    tell("SureFED without introspection")
    blind = simulate(world(), everybody, long, kappa=KAPPA, introspection=False)
    tell("BayP2PFL")
    lost = simulate(world(), everybody, long, rule="bayp2pfl")
    tell("everybody alone")
    alone = simulate(world(), everybody, long, rule="local_only")
    tell("SureFED, an honest client sees half the weights")
    nested = simulate(world("nested"), everybody, long, kappa=KAPPA)
    tell("SureFED by rules/surefed.py, diagonal")
    few = settings.times(repetitions=1 / 3)
    ruled = simulate(world("one-hot"), everybody, few, kappa=KAPPA, covariance="diagonal")
    findings = [
        *_robust("SureFED, 6 of 8 malicious", safe, settings),
        *_against_the_honest(safe, ideal, settings),
        *_robust("SureFED, 6 of 8 malicious, an honest client sees 3 of 6 weights", nested, settings),
        *_robust("SureFED, 6 of 8 malicious, diagonal covariance, one-hot samples", ruled, settings),
        *_without_introspection(blind, safe),
        *_others(lost, alone),
    ]
    return Report(findings, {"robust": _draw(safe, blind, lost, alone, ruled)})


def honest_only(trace: Trace, rounds: int) -> float:
    """The error to be expected if the honest had only ever heard each other."""
    among = restrict(complete(CLIENTS), trace.world.honest)
    return float(predict.expected_error(trace.world, among, rounds)[trace.world.honest].mean())


def _robust(about: str, trace: Trace, settings: Settings) -> list[Finding]:
    rounds = int(trace.times[-1])
    fitted = slope(trace.times, trace.error(), since=rounds / 4, seed=settings.seed)
    honest, liars = trace.world.honest, trace.world.malicious
    heard = trace.trusted[-1][:, honest][:, :, liars].double().mean((1, 2))
    peers = trace.trusted[-1][:, honest][:, :, honest].double().mean((1, 2))
    return [
        Finding(about, "slope of the error", -1.0, fitted),
        Finding(
            about,
            f"error x t at t = {rounds}, if the honest had been by themselves",
            rounds * honest_only(trace, rounds),
            average(rounds * trace.error()[-1]),
            "not stated",
        ),
        Finding(about, "share of malicious neighbours trusted at the end", 0.0, average(heard)),
        Finding(about, "share of honest neighbours trusted at the end", 1.0, average(peers)),
    ]


def _against_the_honest(safe: Trace, ideal: Trace, settings: Settings) -> list[Finding]:
    """What the liars cost: the bias caught before the parting weighs less and less, 1/t, and enters squared."""
    about = "SureFED, 6 of 8 malicious, against the honest by themselves, same samples"
    middle = (safe.times >= 40) & (safe.times <= 400)
    excess = (safe.error() - ideal.error())[middle]
    return [
        Finding(about, "ratio of errors at the end", 1.0, ratio(safe.error()[-1], ideal.error()[-1]), "not stated"),
        Finding(
            about,
            "slope of the difference, rounds 40 to 400",
            -2.0,
            slope(safe.times[middle], excess, seed=settings.seed),
            "not stated",
        ),
    ]


def _without_introspection(blind: Trace, safe: Trace) -> list[Finding]:
    """How many times the error of SureFED one has without introspection, on the way and in the end."""
    middle = int((safe.times <= 100).sum()) - 1
    about = "SureFED without introspection, against with, same samples"
    return [
        Finding(
            about, f"ratio of errors at t = {int(safe.times[at])}", None, ratio(blind.error()[at], safe.error()[at])
        )
        for at in (middle, len(safe.times) - 1)
    ]


def _others(lost: Trace, alone: Trace) -> list[Finding]:
    rounds = int(lost.times[-1])
    honest = lost.world.honest
    nobody = restrict(complete(CLIENTS), torch.zeros(CLIENTS, dtype=torch.bool))
    return [
        Finding(
            "BayP2PFL, 6 of 8 malicious",
            f"error at t = {rounds}",
            float(predict.expected_error(lost.world, complete(CLIENTS), rounds)[honest].mean()),
            average(lost.error()[-1]),
        ),
        Finding(
            "everybody alone, 6 of 8 malicious",
            f"error x t at t = {rounds}",
            rounds * float(predict.expected_error(alone.world, nobody, rounds)[honest].mean()),
            average(rounds * alone.error()[-1]),
            "not stated",
        ),
    ]


def _draw(safe: Trace, blind: Trace, lost: Trace, alone: Trace, ruled: Trace) -> Figure:
    figure, (left, right) = canvas(1, 2, width=5.0, height=3.9)
    for trace, colour, title in (
        (lost, ORANGE, "BayP2PFL, no defence"),
        (alone, GREY, "everybody alone"),
        (blind, SKY, "SureFED, no introspection"),
        (safe, BLUE, "SureFED"),
    ):
        band(left, trace.times, trace.error(), colour, title)
    few = some(safe.times)
    among = restrict(complete(CLIENTS), safe.world.honest)
    honest = safe.world.honest
    curve = torch.stack([predict.expected_error(safe.world, among, int(t))[honest].mean() for t in few])
    prediction(left, few, curve, "predicted: the honest by themselves")
    together = torch.stack([predict.expected_error(safe.world, complete(CLIENTS), int(t))[honest].mean() for t in few])
    prediction(left, few, together, "predicted: no defence", ORANGE)
    name(left, "6 of 8 malicious, b = 20", "round", "mean square error of the honest")
    legend(left)
    for trace, colour, style, title in ((safe, BLUE, "-", "full"), (ruled, SKY, "--", "diagonal, rules/surefed.py")):
        malicious = trace.trusted[:, :, honest][..., ~honest].double().mean((1, 2, 3))
        peers = trace.trusted[:, :, honest][..., honest].double().mean((1, 2, 3))
        right.semilogx(trace.times, 100 * peers, color=colour, linestyle=style, label=f"honest, {title}")
        red = ORANGE if style == "-" else GREEN
        right.semilogx(trace.times, 100 * malicious, color=red, linestyle=style, label=f"malicious, {title}")
    name(right, "Whom the honest trust", "round", "share trusted in %")
    legend(right, "center right")
    return figure


EXPERIMENT = Experiment("robust", "SureFED learns at 1/t with all but one neighbour malicious.", 7, run)
