from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from surefed.core import ConfigError
from surefed.theory.beliefs import regression
from surefed.theory.engine import draws, simulate
from surefed.theory.features import dense
from surefed.theory.fit import slope
from surefed.theory.settings import Settings
from surefed.theory.world import World, complete, horizontal, make, matchings, mixed, ring


def attacked(bias: float = 3.0) -> World:
    return make(mixed(5, 4, 3), malicious=2, bias=bias, noise=torch.linspace(0.5, 1.5, 5).double())


@pytest.mark.parametrize("options", [{}, {"kappa": 1.0}, {"introspection": False}, {"agreement": 0.75}])
def test_full_and_diagonal_are_one_rule_where_nothing_is_lost(options: dict[str, float]) -> None:
    """One-hot samples keep covariances diagonal: matrices and rules/surefed.py must then agree to the digit."""
    full = simulate(attacked(), ring(5), Settings(150, 7, 1), **options)
    ruled = simulate(attacked(), ring(5), Settings(150, 7, 1), covariance="diagonal", **options)
    assert torch.equal(full.trusted, ruled.trusted)
    assert torch.allclose(full.mean, ruled.mean, atol=1e-10)
    assert torch.equal(full.last_in, ruled.last_in)
    assert 0 < int((full.first_out > 0).sum()) < full.first_out.numel()  # some were cut off and some were not


def test_blocks_of_repetitions_do_not_meet() -> None:
    """40 repetitions of 5 clients are judged in two blocks; the first ones come out as they do by themselves."""
    world = make(horizontal(5, 2), malicious=2, bias=3.0)
    first = next(draws(world, Settings(1, 40, 0)))[0][0]
    many = simulate(world, complete(5), Settings(1, 40, 0), covariance="diagonal")
    full = simulate(world, complete(5), Settings(1, 40, 0))
    assert first.shape == (40, 5, 2)
    assert torch.allclose(many.mean, full.mean, atol=1e-12)


def test_an_endless_band_is_bayp2pfl() -> None:
    for covariance in ("full", "diagonal"):
        wide = simulate(attacked(), complete(5), Settings(40, 3), kappa=math.inf, covariance=covariance)
        none = simulate(attacked(), complete(5), Settings(40, 3), rule="bayp2pfl", covariance=covariance)
        assert torch.allclose(wide.mean, none.mean, atol=1e-12)
        assert wide.trusted.all()


def test_alone_everybody_ends_with_the_regression_of_its_own_samples() -> None:
    world, settings = replace(attacked(), features=dense()), Settings(30, 2, 4)
    trace = simulate(world, complete(5), settings, rule="local_only", samples=2)
    batches = [pair for batch in draws(world, settings, 2) for pair in batch]
    x, y = torch.stack([a for a, _ in batches]), torch.stack([b for _, b in batches])
    for repetition, client in ((0, 0), (1, 4)):
        at = regression(world.prior, x[:, repetition, client], y[:, repetition, client], float(world.noise[client]))
        assert torch.allclose(trace.mean[-1, repetition, client], at.mean, atol=1e-9)


def plain(world: World, settings: Settings, kappa: float, schedule: object) -> Tensor:
    """SureFED as the paper writes it: one client after the other, a matrix at a time. [client, weight]"""
    n, weights = world.clients, world.weights
    social = [(torch.zeros(weights).double(), world.prior.clone()) for _ in range(n)]
    local = list(social)

    def update(belief: tuple[Tensor, Tensor], x: Tensor, y: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        mean, spread = belief
        total = x @ spread @ x + noise
        return mean + spread @ x * (y - x @ mean) / total, spread - torch.outer(spread @ x, x @ spread) / total

    for round, batch in enumerate(draws(world, settings)):
        x, y = batch[0][0][0], batch[0][1][0]
        social = [update(social[i], x[i], y[i], world.noise[i]) for i in range(n)]
        local = [update(local[i], x[i], y[i], world.noise[i]) for i in range(n)]
        fresh = []
        for i in range(n):
            mean, spread = local[i]
            band = kappa * spread.diagonal().sqrt()
            heard = [j for j in range(n) if schedule(round)[i, j] and bool(((mean - social[j][0]).abs() <= band).all())]
            at, width = social[i]
            if heard:
                width = torch.linalg.inv(sum(torch.linalg.inv(social[j][1]) for j in heard) / len(heard))
                at = width @ (sum(torch.linalg.inv(social[j][1]) @ social[j][0] for j in heard) / len(heard))
            fresh.append((torch.where((mean - at).abs() > band, mean, at), width))
        social = fresh
    return torch.stack([mean for mean, _ in social])


@pytest.mark.parametrize("schedule", [complete(4), matchings(4)])
def test_against_a_plain_loop_over_clients(schedule: object) -> None:
    world = make(mixed(4, 3, 2), malicious=1, bias=4.0, features=dense(), noise=0.5)
    trace = simulate(world, schedule, Settings(60, 1, 3), kappa=2.0)
    assert torch.allclose(trace.mean[-1, 0], plain(world, Settings(60, 1, 3), 2.0, schedule), atol=1e-9)
    assert not trace.trusted.all()


def test_only_the_labels_of_the_malicious_are_moved() -> None:
    honest = next(draws(attacked(0.0), Settings(1, 2)))[0]
    lying = next(draws(attacked(3.0), Settings(1, 2)))[0]
    assert torch.equal(honest[0], lying[0])
    assert torch.allclose(lying[1] - honest[1], torch.tensor([0, 0, 0, 3.0, 3.0]).double())


def test_equal_settings_give_equal_traces_and_other_seeds_others() -> None:
    one, same, other = (simulate(attacked(), ring(5), Settings(20, 2, seed)) for seed in (1, 1, 2))
    assert torch.equal(one.mean, same.mean)
    assert not torch.equal(one.mean, other.mean)


def test_who_was_cut_off_when() -> None:
    """A liar that adds 100 is out from the first round in which anybody is sure of anything."""
    world = make(horizontal(3, 1), malicious=1, bias=100.0, noise=0.01)
    trace = simulate(world, complete(3), Settings(20, 4))
    assert (trace.last_in[:, 0, 2] == 0).all()
    assert (trace.first_out[:, 0, 2] == 1).all()
    assert (trace.last_in[:, 0, 1] == 20).all()
    assert (trace.error()[-1] < 0.05).all()


@pytest.mark.parametrize("rule", ["surefed", "bayp2pfl"])
def test_the_error_falls_as_one_over_t(rule: str) -> None:
    trace = simulate(make(mixed(4, 3, 2), features=dense()), matchings(4), Settings(400, 150), rule=rule)
    fitted = slope(trace.times, trace.error(), since=20)
    assert -1.15 < fitted.value < -0.85


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1 sample"):
        simulate(attacked(), ring(5), Settings(2, 2), samples=0)
    tilted = replace(attacked(), prior=torch.eye(4).double() + 0.1)
    with pytest.raises(ConfigError, match="diagonal prior"):
        simulate(tilted, ring(5), Settings(2, 2), covariance="diagonal")
