"""IVON: every number against a plain loop, and the posterior of a straight line against Bayes."""

from __future__ import annotations

import math
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from surefed.core import ConfigError, Interrupted, Stream
from surefed.learn import Gaussian, Ivon, Lesson, Network, Rows
from surefed.sim import Experiment, run
from surefed.sim.assemble import assemble

MODULE = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
DECAYS = (0.9, 0.999)


def lesson(rows: int = 3, batches: int = 4, size: int = 5) -> Lesson:
    rng = torch.Generator().manual_seed(1)
    inputs, labels = torch.randn(30, 3, generator=rng), torch.randint(0, 2, (30,), generator=rng)
    seen = torch.randint(0, 30, (rows, batches, size), generator=rng)
    return Lesson(inputs, labels, seen, torch.tensor([10, 20, 30])[:rows], Stream(0, "noise", range(rows)), round=6)


def plainly(learner: Ivon, start: Rows, taught: Lesson) -> tuple[list[list[float]], list[list[float]]]:
    """One row, one batch and one weight after the other, as Shen et al. print it; means and stds."""
    means, stds = [], []
    for row in range(len(start.steps)):
        n = int(taught.sizes[row]) / learner.kl_scale
        delta = 1 / (n * learner.prior_std**2)
        mean, std = start.mean[row].tolist(), F.softplus(start.rho[row].double()).tolist()
        momentum = [0.0] * len(mean)
        for turn in range(taught.batches.shape[1]):
            slopes, curvatures = [0.0] * len(mean), [0.0] * len(mean)
            for draw in range(learner.samples):
                at = turn * learner.samples + draw
                eps = taught.noise.normal(len(mean), round=taught.round, draw=at)[row].tolist()
                drawn = torch.tensor([m + s * e for m, s, e in zip(mean, std, eps, strict=True)]).requires_grad_()
                parts = dict(zip(learner.network.names, learner.network.split(drawn[None]), strict=True))
                seen = taught.batches[row, turn]
                scores = torch.func.functional_call(
                    MODULE, {name: part[0] for name, part in parts.items()}, taught.inputs[seen]
                )
                F.cross_entropy(scores, taught.labels[seen]).backward()
                assert drawn.grad is not None
                for k, slope in enumerate(drawn.grad.tolist()):
                    slopes[k] += slope / learner.samples
                    curvatures[k] += slope * eps[k] / std[k] / learner.samples
            for k in range(len(mean)):
                h = 1 / (n * std[k] ** 2) - delta
                momentum[k] = DECAYS[0] * momentum[k] + (1 - DECAYS[0]) * slopes[k]
                rest = 1 - DECAYS[1]
                gap = h - curvatures[k]
                h = DECAYS[1] * h + rest * curvatures[k] + 0.5 * rest**2 * gap**2 / (h + delta)
                step = momentum[k] / (1 - DECAYS[0] ** (turn + 1)) + delta * mean[k]
                mean[k] -= learner.learning_rate * step / (h + delta)
                std[k] = 1 / math.sqrt(n * (h + delta))
        means.append(mean)
        stds.append(std)
    return means, stds


OPTIONS = [
    {},
    {"samples": 3},
    {"learning_rate": 0.1, "kl_scale": 0.1, "rho": -1.0},
    {"prior_std": 1.0, "kl_scale": 3.0},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_round_is_what_a_plain_loop_makes_of_it(options: dict[str, float]) -> None:
    learner = Ivon(Network(MODULE), **options)  # type: ignore[arg-type]
    rows = learner.init(learner.network.initial(), 3)
    means, stds = plainly(learner, rows, lesson())
    learner.learn(rows, lesson())
    assert torch.allclose(rows.mean, torch.tensor(means), atol=2e-6)
    assert torch.allclose(F.softplus(rows.rho), torch.tensor(stds), rtol=1e-4)
    assert rows.steps.tolist() == [4, 4, 4]


def test_rows_that_rest_stay_and_the_others_learn_as_among_all() -> None:
    learner = Ivon(Network(MODULE))
    every, some = (learner.init(learner.network.initial(), 3) for _ in range(2))
    learner.learn(every, lesson())
    learner.learn(some, lesson(), torch.tensor([True, False, True]))
    for whole, part in zip(
        (every.mean, every.rho, every.moments[0]), (some.mean, some.rho, some.moments[0]), strict=True
    ):
        assert torch.allclose(part[[0, 2]], whole[[0, 2]], atol=1e-7)
    assert torch.equal(some.mean[1], learner.network.initial())
    assert some.steps.tolist() == [4, 0, 4]


def test_the_momentum_survives_rounds_unless_told_otherwise() -> None:
    kept, fresh = (Ivon(Network(MODULE), keep_moments=keep) for keep in (True, False))
    rows = [learner.init(learner.network.initial(), 3) for learner in (kept, fresh)]
    for learner, some in zip((kept, fresh), rows, strict=True):
        learner.learn(some, lesson())
        learner.learn(some, lesson())
    assert [some.steps.tolist() for some in rows] == [[8, 8, 8], [4, 4, 4]]
    assert not torch.allclose(rows[0].mean, rows[1].mean, atol=1e-6)


def test_of_a_straight_line_the_belief_is_the_posterior_of_bayes() -> None:
    """y = w x + noise of std 1, 40 samples, prior N(0, 0.5^2): the precision is sum x^2 + 4, the mean sum xy / that."""
    rng = torch.Generator().manual_seed(3)
    inputs = torch.randn(40, 1, generator=rng)
    labels = 0.8 * inputs + torch.randn(40, 1, generator=rng)
    network = Network(nn.Linear(1, 1, bias=False), Gaussian(1.0), 1)
    learner = Ivon(network, learning_rate=0.2, rho=-1.0, prior_std=0.5, betas=(0.9, 0.99))
    runs = 256  # each with noise of its own
    rows = learner.init(torch.tensor([0.1]), runs)
    everything, sizes = torch.arange(40).expand(runs, 1, 40), torch.full((runs,), 40)
    for round in range(400):
        learner.learn(rows, Lesson(inputs, labels, everything, sizes, Stream(0, "noise", range(runs)), round))
    precision = inputs.square().sum().item() + 4
    found = F.softplus(rows.rho).pow(-2).mean().item()
    assert found == pytest.approx(precision, rel=0.05)
    assert rows.mean.mean().item() == pytest.approx((inputs * labels).sum().item() / precision, abs=0.01)


@given(precision=st.floats(1e-3, 1e6), hessian=st.floats(-1e3, 1e6), curvature=st.floats(-1e30, 1e30))
def test_the_precision_stays_positive_and_finite(precision: float, hessian: float, curvature: float) -> None:
    p, h, c = (torch.tensor([value]) for value in (precision, hessian, curvature))
    after = (p + Ivon(Network(MODULE))._change(p, h, c)).item()
    assert 0.49 * precision <= after <= 14 * precision


def test_weights_without_posterior_are_learned_by_sgd_with_momentum() -> None:
    """BatchNorm's own weights: no noise, no pull, no precision. Nothing else learns here, so their loss is plain."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    network = Network(module)
    certain = network.certain
    assert certain is not None
    learner = Ivon(network, learning_rate=0.05, rho=-13.8, prior_std=1e6)  # others hardly move: their stds are tiny
    rows = learner.init(network.initial(), 1)
    taught = lesson(rows=1)
    learner.learn(rows, taught)
    module.train()
    parts = [value for name, value in module.named_parameters() if name.startswith("1.")]
    momenta = [torch.zeros_like(value) for value in parts]
    for turn in range(4):
        seen = taught.batches[0, turn]
        slopes = torch.autograd.grad(F.cross_entropy(module(taught.inputs[seen]), taught.labels[seen]), parts)
        for value, momentum, slope in zip(parts, momenta, slopes, strict=True):
            momentum.lerp_(slope, 0.1)
            value.data -= 0.05 * momentum / (1 - 0.9 ** (turn + 1))
    assert torch.allclose(rows.mean[0, certain], torch.cat([value.detach() for value in parts]), atol=1e-5)
    assert F.softplus(rows.rho)[:, certain].max() < 1e-5


@pytest.mark.parametrize("size", [1e6, 1e12, 1e20])
def test_a_belief_that_pooled_a_huge_lie_stays_defined(size: float) -> None:
    network = Network(nn.Linear(3, 1), Gaussian(1.0), 1)
    learner = Ivon(network)
    rows = learner.init(torch.full((4,), size), 3)
    taught = lesson()
    learner.learn(rows, replace(taught, labels=taught.labels[:, None].float()))
    assert torch.isfinite(rows.mean).all()
    assert torch.isfinite(rows.rho).all()


@pytest.mark.parametrize("learn", [{}, {"prior": "fixed", "kl_scale": 0.0}])
def test_what_ivon_cannot_do_is_refused_with_the_fix(learn: dict[str, object]) -> None:
    plan = Experiment.of({"data": {"name": "digits", "clients": 3}, "learn": {"kind": "ivon", **learn}})
    with pytest.raises(ConfigError, match=r"set learn.prior to \"fixed\", learn.prior_std to its std"):
        assemble(plan)


def test_it_learns_and_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    told = {
        "seed": 1,
        "rounds": 60,
        "data": {"name": "digits", "clients": 5},
        "model": {"name": "mlp"},
        "learn": {"kind": "ivon", "prior": "fixed", "prior_std": 0.3, "kl_scale": 0.1},
        "rule": {"name": "surefed"},
        "evaluate": {"every": 30},
    }
    whole = run(Experiment.of(told), out=tmp_path / "whole")
    assert whole.record.last["accuracy"]["mean"] > 0.6
    assert whole.record.experiment["learn"]["learning_rate"] == 0.01

    def interrupt(round: int, figures: object) -> None:
        if round == 40:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted):
        run(Experiment.of(told), out=tmp_path / "parts", watch=interrupt)
    again = run(Experiment.of(told), out=tmp_path / "parts", resume=True)
    assert torch.equal(again.beliefs.mean, whole.beliefs.mean)
