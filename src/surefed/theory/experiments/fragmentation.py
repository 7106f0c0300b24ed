"""When the honest stop hearing the liars, against the bound in the proof; and what the cleverest bias costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefed.theory import predict
from surefed.theory.engine import Trace, simulate
from surefed.theory.experiments.drawing import BLUE, GREEN, ORANGE, bars, canvas, legend, name
from surefed.theory.fit import Estimate, average, share, slope
from surefed.theory.report import Experiment, Finding, Paper, Report, Tell
from surefed.theory.settings import Settings
from surefed.theory.world import World, complete, horizontal, make, restrict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLIENTS, WEIGHTS, MALICIOUS, BIAS, KAPPA = 4, 4, 2, 4.0, 4.0
BIASES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
KAPPAS = (2.0, 3.0, 4.0, 6.0, 8.0)
SHARED = (1, 2, 3, 4)


def world(bias: float = BIAS, shared: int = WEIGHTS) -> World:
    """Two honest clients that observe four weights, two liars that observe the first few of them; one-hot samples."""
    observes = horizontal(CLIENTS, WEIGHTS)
    observes[CLIENTS - MALICIOUS :, shared:] = False
    return make(observes, malicious=MALICIOUS, bias=bias)


def run(settings: Settings, tell: Tell) -> Report:
    """Sweeps over the bias b, the band kappa and the number of weights that honest and malicious clients share."""
    by_bias: dict[float, Trace] = {}
    for bias in BIASES:
        tell(f"b = {bias:g}")
        by_bias[bias] = simulate(world(bias), complete(CLIENTS), settings.times(repetitions=1 / 2), kappa=KAPPA)
    by_kappa, by_shared = {}, {}
    for kappa in KAPPAS:
        tell(f"kappa = {kappa:g}")
        by_kappa[kappa] = simulate(world(), complete(CLIENTS), settings.times(1 / 2, 1 / 2), kappa=kappa)
    for shared in SHARED:
        tell(f"{shared} shared weights")
        scene = world(shared=shared)
        by_shared[float(shared)] = simulate(scene, complete(CLIENTS), settings.times(1 / 2, 1 / 2), kappa=KAPPA)
    parted = {bias: trace for bias, trace in by_bias.items() if _bound(trace, KAPPA) < 1.2 * settings.rounds}
    figure, panels = canvas(1, 4, width=3.8)
    _panel(panels[0], parted, dict.fromkeys(parted, KAPPA), "bias b")
    _panel(panels[1], by_kappa, {kappa: kappa for kappa in by_kappa}, "kappa")
    _panel(panels[2], by_shared, dict.fromkeys(by_shared, KAPPA), "shared weights")
    panels[2].set_xscale("linear")
    panels[2].set_xticks(SHARED)
    _cost(panels[3], by_bias, settings)
    findings = [
        _slope_over_bias(parted, settings),
        *(_within(f"b = {bias:g}, kappa = 4", trace, KAPPA) for bias, trace in parted.items()),
        *(_within(f"b = 4, kappa = {kappa:g}", trace, kappa) for kappa, trace in by_kappa.items()),
        *(_within(f"b = 4, weights shared: {int(n)}", trace, KAPPA) for n, trace in by_shared.items()),
        *(_looseness(f"b = {bias:g}, kappa = 4", trace, KAPPA) for bias, trace in parted.items()),
        _worst(by_bias, settings),
    ]
    return Report(findings, {"fragmentation": figure})


def parting(trace: Trace) -> Tensor:
    """The round from which on an honest client never again trusts a malicious one. [repetition, pair]"""
    honest = trace.world.honest
    return trace.last_in[:, honest][:, :, ~honest].flatten(1) + 1


def _bound(trace: Trace, kappa: float, *, noise_free: bool = False) -> float:
    honest = trace.world.honest
    everybody = predict.influence(complete(CLIENTS))
    rounds = predict.fragmentation_bound(trace.world, everybody, kappa, noise_free=noise_free)
    return float(rounds[honest][:, ~honest].max())


def _mean_time(trace: Trace) -> Estimate:
    return average(parting(trace).double().mean(1))


def _panel(panel: Axes, traces: dict[float, Trace], kappas: dict[float, float], title: str) -> None:
    places = list(traces)
    bars(panel, places, [_mean_time(traces[at]) for at in places], BLUE, "measured: never trusted again")
    bounds = [_bound(traces[at], kappas[at]) for at in places]
    drifts = [_bound(traces[at], kappas[at], noise_free=True) for at in places]
    panel.plot(places, bounds, color=ORANGE, linestyle="--", marker="^", markersize=4, label="bound of the proof")
    panel.plot(places, drifts, color=GREEN, linestyle=":", marker="s", markersize=4, label="bias = band, no noise")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xticks(places, [f"{at:g}" for at in places])
    panel.minorticks_off()
    panel.set_ylim(1, 8 * max(bounds))
    name(panel, f"Parting, by {title}", title, "round")
    legend(panel)


def _cost(panel: Axes, traces: dict[float, Trace], settings: Settings) -> None:
    places = list(traces)
    rounds, honest = settings.rounds, traces[1.0].world.honest
    bars(panel, places, [_excess(traces[at]) for at in places], BLUE, "SureFED")
    lost = [
        rounds * float(predict.expected_error(traces[at].world, complete(CLIENTS), rounds)[honest].mean())
        for at in places
    ]
    panel.plot(places, lost, color=ORANGE, linestyle="--", label="no defence, predicted")
    panel.axhline(_clean(rounds), color="black", linestyle=":", label="the honest alone, predicted")
    panel.axhline(ceiling(rounds), color=GREEN, linestyle="-.", label="ceiling for any b, predicted")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xticks(places, [f"{at:g}" for at in places])
    panel.minorticks_off()
    name(panel, f"What a bias costs after {rounds} rounds", "bias b", "mean square error x t")
    legend(panel)


def _excess(trace: Trace) -> Estimate:
    return average(int(trace.times[-1]) * trace.error()[-1])


def _clean(rounds: int) -> float:
    scene = world()
    among = restrict(complete(CLIENTS), scene.honest)
    return rounds * float(predict.expected_error(scene, among, rounds)[scene.honest].mean())


def ceiling(rounds: int) -> float:
    """The most that any bias can cost: a bias as large as the band lets through, on every weight, and the noise.

    A social mean that stays trusted is within kappa local stds, so t * error <= sum_k kappa^2 l_k, plus what is
    lost to noise.
    """
    spread = predict.local_spread(world())[0]
    return float(KAPPA**2 * spread.sum()) + _clean(rounds)


def _slope_over_bias(traces: dict[float, Trace], settings: Settings) -> Finding:
    times = torch.stack([parting(trace).double().mean(1) for trace in traces.values()])  # [bias, repetition]
    biases = torch.tensor(list(traces), dtype=torch.float64)
    return Finding(
        "time of parting over b", "slope on logarithmic axes", -2.0, slope(biases, times, since=0.0, seed=settings.seed)
    )


def _within(about: str, trace: Trace, kappa: float) -> Finding:
    parted = share(parting(trace).double() <= max(1.0, _bound(trace, kappa)))
    verdict: Paper = "as stated" if parted.high >= 0.95 else "not as stated"
    return Finding(f"parting, {about}", "share of pairs parted by the bound", 0.95, parted, verdict, "at_least")


def _looseness(about: str, trace: Trace, kappa: float) -> Finding:
    ratio = average(parting(trace).double().mean(1) / _bound(trace, kappa))
    return Finding(f"parting, {about}", "mean round of parting / bound", 1.0, ratio, kind="at_most")


def _worst(traces: dict[float, Trace], settings: Settings) -> Finding:
    worst = max((_excess(trace) for trace in traces.values()), key=lambda one: one.value)
    return Finding(
        "the most harmful b of those tried", "error x t", ceiling(settings.rounds), worst, "not stated", "at_most"
    )


EXPERIMENT = Experiment(
    "fragmentation",
    "The honest part from the liars by the time the proof gives.",
    len(BIASES) + len(KAPPAS) + len(SHARED),
    run,
)
