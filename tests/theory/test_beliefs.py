from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import MultivariateNormal, kl_divergence

from surefed.core import Belief, pool, rho_of
from surefed.theory.beliefs import (
    Full,
    inspect_full,
    introspect_full,
    kalman,
    kalman_diagonal,
    pool_full,
    regression,
)

SEEDS = st.integers(0, 2**32 - 1)


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def covariance(seed: int, *shape: int) -> Tensor:
    root = normal(seed, *shape, shape[-1])
    return root @ root.mT + 0.1 * torch.eye(shape[-1], dtype=torch.float64)


def beliefs(seed: int, clients: int = 4, weights: int = 3) -> Full:
    spread = covariance(seed, clients, weights)
    return Full(normal(seed + 1, clients, weights), spread, torch.linalg.inv(spread))


def number(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def test_one_sample_worked_by_hand() -> None:
    # prior N(0, 2), x = 1, y = 3, noise 1: gain 2 / 3, mean 2, variance 2 - 4 / 3
    belief = kalman(Full.prior(number(2.0).view(1, 1), ()), number(1.0).view(1), number(3.0), number(1.0))
    assert belief.mean.item() == pytest.approx(2.0)
    assert belief.covariance.item() == pytest.approx(2 / 3)
    assert belief.precision.item() == pytest.approx(1.5)


def test_the_denominator_that_the_paper_prints_is_not_bayes_rule() -> None:
    # with Sigma_t = 2/3 instead of Sigma_{t-1} = 2 in the same example: 2 * 3 / (2/3 + 1) = 3.6, more than the label
    exact = regression(number(2.0).view(1, 1), number(1.0).view(1, 1), number(3.0).view(1), 1.0)
    printed = 2.0 * 3.0 / (exact.covariance.item() + 1.0)
    assert exact.mean.item() == pytest.approx(2.0)
    assert printed == pytest.approx(3.6)


@given(seed=SEEDS, weights=st.integers(1, 6), samples=st.integers(1, 40))
def test_kalman_updates_in_any_order_are_batch_regression(seed: int, weights: int, samples: int) -> None:
    x, y, prior = normal(seed, samples, weights), normal(seed + 1, samples), covariance(seed + 2, weights)
    exact = regression(prior, x, y, noise=0.3)
    for order in (torch.arange(samples), torch.randperm(samples, generator=torch.Generator().manual_seed(seed))):
        belief = Full.prior(prior, ())
        for at in order:
            belief = kalman(belief, x[at], y[at], number(0.3))
        assert torch.allclose(belief.mean, exact.mean, atol=1e-8)
        assert torch.allclose(belief.covariance, exact.covariance, atol=1e-8)
        assert torch.allclose(belief.precision, exact.precision, rtol=1e-10)


@pytest.mark.parametrize("steps", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_the_covariance_stays_symmetric_and_positive(steps: int) -> None:
    rng = torch.Generator().manual_seed(0)
    belief = Full.prior(100.0 * torch.eye(4, dtype=torch.float64), (3,))
    noise = torch.tensor([0.01, 1.0, 10.0], dtype=torch.float64)
    for _ in range(steps):
        x = torch.rand(3, 4, generator=rng, dtype=torch.float64)
        belief = kalman(belief, x, x.sum(-1), noise)
    assert torch.equal(belief.covariance, belief.covariance.mT)
    assert bool((torch.linalg.eigvalsh(belief.covariance) > 0).all())
    unit = torch.eye(4, dtype=torch.float64).expand(3, 4, 4)
    assert torch.allclose(belief.covariance @ belief.precision, unit, atol=1e-6)


@given(seed=SEEDS)
def test_pooling_is_the_log_opinion_pool(seed: int) -> None:
    """log pooled(x) - mean_j log sent_j(x) is the same at every x."""
    sent = beliefs(seed)
    trust = torch.tensor([[True, True, False, True]])
    pooled = pool_full(sent, trust.expand(4, 4))
    at = 2 * normal(seed + 5, 20, 3)
    each = torch.stack(
        [MultivariateNormal(sent.mean[j], precision_matrix=sent.precision[j]).log_prob(at) for j in (0, 1, 3)]
    )
    one = MultivariateNormal(pooled.mean[0], precision_matrix=pooled.precision[0]).log_prob(at)
    gap = one - each.mean(0)
    assert torch.allclose(gap, gap[:1].expand_as(gap), atol=1e-6)


@given(seed=SEEDS)
def test_pooling_diagonal_covariances_is_what_the_core_does(seed: int) -> None:
    std = normal(seed, 4, 3).abs() + 0.1
    mean = normal(seed + 1, 4, 3)
    trust = torch.rand(4, 4, generator=torch.Generator().manual_seed(seed)) < 0.5
    full = pool_full(Full(mean, torch.diag_embed(std.square()), torch.diag_embed(std**-2)), trust)
    core = pool(Belief(mean, rho_of(std)), trust, Belief(mean, rho_of(std)))
    assert torch.allclose(full.mean, core.mean, atol=1e-10)
    assert torch.allclose(full.std, core.std, rtol=1e-10)


def test_who_trusts_nobody_keeps_its_own() -> None:
    sent = beliefs(0)
    pooled = pool_full(sent, torch.zeros(4, 4, dtype=torch.bool))
    assert torch.allclose(pooled.mean, sent.mean)
    assert torch.allclose(pooled.covariance, sent.covariance)


def test_bands_worked_by_hand() -> None:
    """Local variances 1 and 0.25 on the diagonal, kappa 2: within 2 on the first weight and 1 on the second."""
    spread = torch.tensor([[1.0, 0.4], [0.4, 0.25]], dtype=torch.float64)
    means = torch.tensor([[0.0, 0.0], [1.9, -0.9], [0.0, 1.1]], dtype=torch.float64)
    social = Full(means, spread.expand(3, 2, 2), torch.linalg.inv(spread).expand(3, 2, 2))
    local = Full(torch.zeros(3, 2, dtype=torch.float64), social.covariance, social.precision)
    trusted = inspect_full(local, social, torch.ones(3, 3, dtype=torch.bool), 2.0)
    assert trusted[0].tolist() == [True, True, False]
    repaired = introspect_full(social, local, 2.0)
    assert repaired.mean.tolist() == [[0.0, 0.0], [1.9, -0.9], [0.0, 0.0]]


def test_a_diagonal_update_worked_by_hand() -> None:
    # prior N(0, 1) twice, x = (1, 1), y = 3, noise 1: gain 1/3 each, so means 1; precisions 1 + 1
    prior = Belief(torch.zeros(2, dtype=torch.float64), rho_of(torch.ones(2, dtype=torch.float64)))
    belief = kalman_diagonal(prior, torch.ones(2, dtype=torch.float64), number(3.0), number(1.0))
    assert belief.mean.tolist() == pytest.approx([1.0, 1.0])
    assert belief.std.square().tolist() == pytest.approx([0.5, 0.5])


@given(seed=SEEDS)
def test_a_diagonal_update_minimises_the_free_energy(seed: int) -> None:
    """KL[q || exact posterior] grows whichever mean or std is nudged."""
    std, mean, x = normal(seed, 3).abs() + 0.2, normal(seed + 1, 3), normal(seed + 2, 3)
    y, noise = normal(seed + 3, 1)[0], number(0.5)
    prior = Full(mean, torch.diag(std.square()), torch.diag(std**-2))
    exact = kalman(prior, x, y, noise)
    found = kalman_diagonal(Belief(mean, rho_of(std)), x, y, noise)

    def energy(at: Tensor, spread: Tensor) -> float:
        posterior = MultivariateNormal(exact.mean, precision_matrix=exact.precision)
        return float(kl_divergence(MultivariateNormal(at, torch.diag(spread.square())), posterior))

    best = energy(found.mean, found.std)
    for k in range(3):
        for step in (-1e-3, 1e-3):
            nudge = torch.zeros(3, dtype=torch.float64)
            nudge[k] = step
            assert energy(found.mean + nudge, found.std) > best
            assert energy(found.mean, found.std * (1 + nudge)) > best


@given(seed=SEEDS)
def test_one_hot_samples_lose_nothing_to_a_diagonal(seed: int) -> None:
    exact = Full.prior(4.0 * torch.eye(3, dtype=torch.float64), ())
    rough = Belief(exact.mean, rho_of(torch.full((3,), 2.0, dtype=torch.float64)))
    for at in range(30):
        x = torch.zeros(3, dtype=torch.float64)
        x[at % 3] = 1.0 + normal(seed + at, 1)[0].abs()
        y = normal(seed - at if seed > at else at, 1)[0]
        exact, rough = kalman(exact, x, y, number(0.7)), kalman_diagonal(rough, x, y, number(0.7))
    assert torch.allclose(exact.mean, rough.mean, atol=1e-12)
    assert torch.allclose(exact.std, rough.std, rtol=1e-12)
