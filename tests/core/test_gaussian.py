from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import Normal, kl_divergence

from surefed.core import Belief, kl, pool, pool_within, rho_of, sample
from surefed.core.gaussian import tiles

STDS = st.floats(1e-6, 10.0)
MEANS = st.floats(-100.0, 100.0)


def belief(means: list[list[float]], stds: list[list[float]]) -> Belief:
    return Belief(torch.tensor(means), rho_of(torch.tensor(stds)))


def test_sample_is_mean_plus_std_times_noise() -> None:
    one = belief([[1.0, 2.0]], [[0.5, 0.25]])
    assert sample(one, torch.tensor([[2.0, -4.0]]))[0].tolist() == pytest.approx([2.0, 1.0])


def test_kl_worked_by_hand() -> None:
    # log(2/1) + (1 + 1) / (2 * 4) - 1/2 for the first weight; 0 for the second
    q, p = belief([[1.0, 3.0]], [[1.0, 0.1]]), belief([[0.0, 3.0]], [[2.0, 0.1]])
    assert kl(q, p).item() == pytest.approx(math.log(2) + 0.25 - 0.5)


@given(MEANS, STDS, MEANS, STDS)
def test_kl_equals_torch_distributions(m: float, s: float, n: float, t: float) -> None:
    q, p = belief([[m]], [[s]]), belief([[n]], [[t]])
    exact = kl_divergence(Normal(q.mean.double(), q.std.double()), Normal(p.mean.double(), p.std.double())).sum()
    assert kl(q, p).item() == pytest.approx(exact.item(), rel=1e-6, abs=1e-9)


def test_pool_worked_by_hand() -> None:
    # precisions 1 and 4: average 2.5; mean (1 * 0 + 4 * 1) / 5
    sent = belief([[0.0], [1.0], [9.0]], [[1.0], [0.5], [1.0]])
    pooled = pool(sent, torch.tensor([[True, True, False]]), otherwise=sent[2:])
    assert pooled.mean.item() == pytest.approx(0.8)
    assert pooled.std.item() == pytest.approx(2.5**-0.5)


def test_pool_with_weights_is_the_log_opinion_pool() -> None:
    sent = belief([[0.0], [1.0]], [[1.0], [0.5]])
    pooled = pool(sent, torch.tensor([[3.0, 1.0]]), otherwise=sent[:1])
    assert pooled.std.item() == pytest.approx((0.75 * 1 + 0.25 * 4) ** -0.5)
    assert pooled.mean.item() == pytest.approx(0.25 * 4 * 1 / 1.75)


def test_who_trusts_nobody_keeps_its_own() -> None:
    sent = belief([[0.0], [1.0]], [[1.0], [0.5]])
    own = belief([[7.0], [8.0]], [[0.3], [0.4]])
    pooled = pool(sent, torch.tensor([[False, False], [True, False]]), otherwise=own)
    assert pooled.mean[0].item() == 7.0
    assert torch.equal(pooled.rho[0], own.rho[0])
    assert pooled.mean[1].item() == 0.0


@given(st.lists(MEANS, min_size=1, max_size=4), st.lists(STDS, min_size=4, max_size=4), st.integers(1, 5))
def test_pooling_equal_beliefs_is_the_identity(means: list[float], stds: list[float], copies: int) -> None:
    one = belief([means], [stds[: len(means)]])
    sent = Belief(one.mean.repeat(copies, 1), one.rho.repeat(copies, 1))
    pooled = pool(
        sent,
        torch.ones(2, copies, dtype=torch.bool),
        otherwise=Belief(sent.mean[:1].repeat(2, 1), sent.rho[:1].repeat(2, 1)),
    )
    assert torch.allclose(pooled.mean, one.mean.repeat(2, 1), rtol=1e-6, atol=0)
    assert torch.allclose(pooled.std, one.std.repeat(2, 1), rtol=1e-5, atol=0)


@given(st.lists(st.tuples(MEANS, STDS), min_size=1, max_size=6))
def test_pool_against_a_plain_loop(messages: list[tuple[float, float]]) -> None:
    sent = belief([[mean] for mean, _ in messages], [[std] for _, std in messages])
    precision = [1 / std.item() ** 2 for std in sent.std.double()]
    mean = sum(p * m.item() for p, m in zip(precision, sent.mean, strict=True)) / sum(precision)
    pooled = pool(sent, torch.ones(1, len(messages), dtype=torch.bool), otherwise=sent[:1])
    assert pooled.mean.item() == pytest.approx(mean, rel=1e-5, abs=1e-5)
    assert pooled.std.item() == pytest.approx((sum(precision) / len(precision)) ** -0.5, rel=1e-4)


def test_finite_input_never_gives_nan() -> None:
    extremes = torch.tensor([-3e38, -1.0, 0.0, 1e-38, 3e38])
    mean, rho = (grid.reshape(1, -1) for grid in torch.meshgrid(extremes, extremes, indexing="ij"))
    sent = Belief(torch.cat((mean, mean.flip(1))), torch.cat((rho, rho.flip(1))))
    pooled = pool(sent, torch.ones(2, 2, dtype=torch.bool), otherwise=sent)
    assert pooled.mean.isfinite().all()
    assert pooled.rho.isfinite().all()
    assert not kl(sent, Belief(sent.mean.flip(0), sent.rho.flip(0))).isnan().any()


def test_a_sender_heard_by_nobody_may_hold_anything() -> None:
    sent = Belief(torch.tensor([[1.0], [math.nan]]), torch.tensor([[0.0], [math.inf]]))
    pooled = pool(sent, torch.tensor([[True, False]]), otherwise=sent[:1])
    assert pooled.mean.item() == 1.0


@pytest.mark.parametrize(("weights", "rows"), [(1, 1), (1000, 3), (300_000, 7), (64, 10**7)])
def test_tiles_cover_every_weight_once(weights: int, rows: int) -> None:
    covered = [at for part in tiles(weights, rows, torch.device("cpu")) for at in range(part.start, part.stop)]
    assert covered == list(range(weights))


@given(st.lists(st.tuples(MEANS, st.floats(0.01, 1.0)), min_size=1, max_size=6))
def test_pooling_within_wide_bounds_is_pooling(messages: list[tuple[float, float]]) -> None:
    sent = belief([[mean] for mean, _ in messages], [[std] for _, std in messages])
    trust = torch.ones(len(messages), len(messages), dtype=torch.bool)
    free, bounded = pool(sent, trust, sent), pool_within(sent, trust, sent, sent, floor=1e-4, ceiling=1e4)
    assert torch.allclose(free.mean, bounded.mean, rtol=1e-4, atol=1e-4)
    assert torch.allclose(free.std, bounded.std, rtol=1e-4)


def test_a_floor_takes_away_a_forged_certainty() -> None:
    # own std 0.1; the second claims 1e-4, read as 0.05: weights 1 and 4 in units of the own precision
    sent = belief([[0.0], [1.0]], [[0.1], [1e-4]])
    pooled = pool_within(sent, torch.tensor([[True, True]]), sent[:1], sent[:1], floor=0.5)
    assert pooled.mean.item() == pytest.approx(0.8, rel=1e-4)
    assert pooled.std.item() == pytest.approx(0.1 * (2 / 5) ** 0.5, rel=1e-4)
    assert pool(sent, torch.tensor([[True, True]]), sent[:1]).mean.item() == pytest.approx(1.0, abs=1e-5)


def test_a_ceiling_takes_away_a_forged_doubt_and_nobody_keeps_its_own() -> None:
    sent = belief([[0.0], [1.0]], [[0.1], [5.0]])
    trust = torch.tensor([[True, True], [False, False]])
    pooled = pool_within(sent, trust, sent, belief([[0.0], [0.0]], [[0.1], [0.1]]), ceiling=2.0)
    assert pooled.mean[0].item() == pytest.approx(0.25 / 1.25, rel=1e-4)
    assert pooled.mean[1].item() == 1.0
    assert torch.equal(pooled.rho[1], sent.rho[1])
