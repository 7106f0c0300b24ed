"""What the theorems need and the paper does not ask for: frequent meetings, a wide prior, full covariances, healing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefed.core import generator
from surefed.theory import predict
from surefed.theory.engine import Trace, logarithmic, simulate
from surefed.theory.experiments.drawing import BLUE, GREEN, ORANGE, PINK, band, bars, level, name, prediction, some
from surefed.theory.features import dense
from surefed.theory.fit import average, share, slope
from surefed.theory.kappa import violation
from surefed.theory.report import Finding
from surefed.theory.settings import Settings
from surefed.theory.world import Schedule, World, at_times, complete, horizontal, index_sets, make, restrict

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def rare_meetings(settings: Settings, panel: Axes) -> list[Finding]:
    """Meetings at 2, 4, 16, 256, 65536 ...: the definition of relaxed connectivity holds, 1/t does not.

    And who was away for long is taken for a liar: after a gap that multiplies time by g, what one client has heard of
    the other's weight is off by sqrt(g - 1) of the other's stds.
    """
    world = make(index_sets({0}, {1}, weights=2))
    meetings = [2 ** (2**n) for n in range(5)]
    schedule = at_times(torch.ones(2, 2, dtype=torch.bool), set(meetings))
    before, last = [at for at in meetings if at <= settings.rounds][-2:]
    times = torch.cat((logarithmic(settings.rounds), torch.tensor(meetings)))
    times = times[times <= settings.rounds].unique()
    pooled = simulate(world, schedule, settings, rule="bayp2pfl", times=times)
    judged = simulate(world, schedule, replace(settings, rounds=last), times=times)
    other = pooled.off(0, 1)
    band(panel, pooled.times, other, ORANGE, "weight learned from the other")
    band(panel, pooled.times, pooled.off(0, 0), BLUE, "weight observed")
    few = some(pooled.times, 12)
    expected = torch.stack([_expected_weight(world, schedule, int(t)) for t in few])
    prediction(panel, few, expected, "predicted from the matrices")
    name(panel, "Meetings ever rarer (2, 4, 16, 256, ...)", "round", "squared error, BayP2PFL")
    final = int(pooled.times[-1])
    refused = ~judged.trusted[-1][:, ~torch.eye(2, dtype=torch.bool)]
    return [
        Finding(
            "meetings at 2, 4, 16, 256, BayP2PFL",
            f"error x t at t = {final} on a weight learned from the other (0.92 when they meet every round)",
            final * float(_expected_weight(world, schedule, final)),
            average(final * other[-1]),
            "not as stated",
        ),
        Finding(
            "meetings at 2, 4, 16, 256, SureFED",
            f"honest clients refused at t = {last}, share",
            violation(4.0 / (last / before - 1) ** 0.5, 0.0),
            share(refused),
            "not as stated",
        ),
    ]


def _expected_weight(world: World, schedule: Schedule, rounds: int) -> Tensor:
    """The squared error of client 0 on weight 1."""
    bias, variance = predict.error_parts(world, schedule, rounds)
    return bias[0, 1].square() + variance[0, 1]


def narrow_prior(settings: Settings, panel: Axes) -> list[Finding]:
    """Who does not observe a weight judges it by its prior: a truth beyond kappa prior stds makes every peer a liar."""
    theta = torch.tensor([1.0, 3.0], dtype=torch.float64)
    errors = {}
    for prior_std, colour, title in ((2.0, BLUE, "prior std 2: band 8"), (0.5, ORANGE, "prior std 0.5: band 2")):
        world = make(index_sets({0}, {0, 1}, weights=2), theta=theta, prior_std=prior_std)
        trace = simulate(world, complete(2), settings.times(1 / 2, 1 / 2))
        errors[prior_std] = trace.off(0, 1)
        band(panel, trace.times, errors[prior_std], colour, title)
    level(panel, 1.0, "predicted: (3 - 2)^2 at least")
    name(panel, "A prior that leaves out the truth", "round", "squared error, weight not observed")
    return [
        Finding(
            "truth 6 prior stds away, kappa 4, no attack, SureFED",
            "error at the end on a weight not observed",
            1.0,
            average(errors[0.5][-1]),
            "not as stated",
            "at_least",
        )
    ]


def correlations(settings: Settings, panel: Axes) -> list[Finding]:
    """Diagonal beliefs about correlated samples: an eigenvalue of D^-1 M below 1/2 makes the error fall slower."""
    world = make(horizontal(4, 4), features=dense(2.0))
    rate = predict.diagonal_rate(world, predict.influence(complete(4))[0])
    size = settings.times(repetitions=1 / 4)
    pooled = simulate(world, complete(4), size, rule="bayp2pfl", covariance="diagonal")
    judged = simulate(world, complete(4), size, covariance="diagonal")
    exact = simulate(world, complete(4), size)
    for trace, colour, title in (
        (judged, ORANGE, "SureFED, diagonal"),
        (pooled, PINK, "BayP2PFL, diagonal"),
        (exact, BLUE, "SureFED, full"),
    ):
        band(panel, trace.times, trace.error(), colour, title)
    line = pooled.error()[-1].mean() * (pooled.times / pooled.times[-1]) ** rate.slope
    panel.plot(pooled.times, line, color="black", linestyle=":", label=f"predicted slope {rate.slope:.2f}")
    name(panel, "Correlations thrown away", "round", "mean square error")
    since = settings.rounds / 10
    apart = torch.eye(4, dtype=torch.bool)
    honest = judged.trusted[-1][:, ~apart].double().mean(1)
    about = "Gamma(2) samples, diagonal covariance"
    return [
        Finding(
            f"BayP2PFL, {about}",
            "slope of the error",
            rate.slope,
            slope(pooled.times, pooled.error(), since=since),
            "not as stated",
        ),
        Finding(
            f"SureFED, {about}",
            "slope of the error",
            None,
            slope(judged.times, judged.error(), since=since),
            "not as stated",
        ),
        Finding(
            f"SureFED, {about}", "share of honest neighbours trusted at the end", None, average(honest), "not as stated"
        ),
    ]


def mutual_rejection(settings: Settings, panel: Axes) -> list[Finding]:
    """All three assumptions hold, and still: two honest clients, each poisoned where only the other could tell.

    A share of agreement of 2/3 forgives the one weight that the other does not observe, and brings them together.
    """
    world = make(index_sets({0, 2}, {1, 2}, *[{0, 1, 2}] * 6, weights=3), malicious=6, bias=2.0)
    trace = simulate(world, complete(8), settings)
    lenient = simulate(world, complete(8), settings.times(repetitions=1 / 2), agreement=0.66)
    found, errors = _found(trace), trace.error()
    lost = errors[:, ~found]
    limit = float(predict.bias_limit(world, predict.influence(complete(8)))[0, 1] ** 2)
    band(panel, trace.times, errors[:, found], BLUE, f"found together: {100 * found.double().mean():.0f} % of runs")
    band(panel, trace.times, lost, ORANGE, "reject each other for good")
    band(panel, lenient.times, lenient.error(), GREEN, "agreement 2/3")
    level(panel, limit, "(c b)^2, on the weight not observed")
    name(panel, "All assumptions hold", "round", "mean square error of the honest")
    about, quantity = "all assumptions hold, SureFED", "share of runs in which the honest find together"
    fitted = slope(trace.times, lost, since=settings.rounds / 5)
    return [
        Finding(about, quantity, None, share(found), "not as stated"),
        Finding(about, "slope of the error in the other runs", 0.0, fitted, "not as stated"),
        Finding(about, "error in the other runs", limit, average(lost[-1]), "not as stated", "at_most"),
        Finding("all assumptions hold, agreement 2/3", quantity, 1.0, share(_found(lenient)), "not stated"),
    ]


def _found(trace: Trace) -> Tensor:
    """Whether either of the first two clients hears the other at the end. bool [repetition]"""
    return trace.trusted[-1][:, 0, 1] | trace.trusted[-1][:, 1, 0]


def random_sets(settings: Settings, panel: Axes) -> list[Finding]:
    """Ten federations with random index sets: `predict.heals` says beforehand which may lose each other for good."""
    places = {True: [1.0, 2.0, 3.0, 4.0, 5.0], False: [7.0, 8.0, 9.0, 10.0, 11.0]}
    findings = []
    for heals, worlds in _random_worlds(settings.seed).items():
        traces = [simulate(world, complete(9), settings.times(1, 1 / 4)) for world in worlds]
        lost = [_lost(trace) for trace in traces]
        title = "must heal" if heals else "may not heal"
        bars(panel, places[heals], [share(runs) for runs in lost], BLUE if heals else ORANGE, f"predicted: {title}")
        about = f"five random federations that {title}, SureFED"
        stuck = share(torch.cat(lost))
        quantity = "share of runs with more than 20 times the error of the honest by themselves"
        findings.append(
            Finding(about, quantity, 0.0, stuck) if heals else Finding(about, quantity, None, stuck, "not as stated")
        )
    panel.set_xticks([*places[True], *places[False]], [])
    panel.set_ylim(-0.03, 1.03)
    name(panel, "Random index sets, three honest of nine", "federation", "share of runs that never recover")
    return findings


def _random_worlds(seed: int) -> dict[bool, list[World]]:
    """Three honest clients with random index sets over four weights, and six liars: five must heal, five may not."""
    rng = generator(seed, "theory index sets")
    worlds: dict[bool, list[World]] = {True: [], False: []}
    while min(len(found) for found in worlds.values()) < 5:
        honest = torch.from_numpy(rng.random((3, 4)) < 0.65)
        if not bool(honest.any(0).all() & honest.any(1).all()):
            continue
        world = make(torch.cat((honest, horizontal(6, 4))), malicious=6, bias=4.0)
        kind = worlds[predict.heals(world, complete(9)(0))]
        if len(kind) < 5:
            kind.append(world)
    return worlds


def _lost(trace: Trace) -> Tensor:
    """Whether the honest end far from where they would be by themselves. bool [repetition]"""
    among = restrict(complete(trace.world.clients), trace.world.honest)
    expected = predict.expected_error(trace.world, among, int(trace.times[-1]))[trace.world.honest].mean()
    return trace.error()[-1] > 20 * expected
