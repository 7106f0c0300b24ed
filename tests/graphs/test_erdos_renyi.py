from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from surefed.graphs.erdos_renyi import erdos_renyi, unrank


def test_pairs_in_order() -> None:
    pairs = [(high, low) for high in range(60) for low in range(high)]
    assert list(zip(*(part.tolist() for part in unrank(np.arange(len(pairs)))), strict=True)) == pairs


def test_the_largest_pairs_are_exact() -> None:
    # The last pair of a million clients and the one after it, where a root in floating point may round.
    last = 10**6 * (10**6 - 1) // 2 - 1
    high, low = unrank(np.array([last, last + 1]))
    assert high.tolist() == [10**6 - 1, 10**6]
    assert low.tolist() == [10**6 - 2, 0]


def test_nobody_and_everybody() -> None:
    assert torch.equal(erdos_renyi(9, 0, p=0).edges(0), torch.eye(9, dtype=torch.bool))
    assert erdos_renyi(9, 0, p=1).edges(0).all()
    assert erdos_renyi(1, 0).edges(0).tolist() == [[True]]


@pytest.mark.parametrize("p", [0.03, 0.3, 0.9])
def test_every_pair_with_probability_p(p: float) -> None:
    total = sum(erdos_renyi(5, seed, p=p).edges(0).int() for seed in range(1500))
    shares = np.array([int(total[a, b]) / 1500 for a, b in itertools.combinations(range(5), 2)])
    assert abs(shares - p).max() < 5 * np.sqrt(p * (1 - p) / 1500)


def test_pairs_are_independent() -> None:
    # The number of edges among 40 clients is binomial: mean 780 p, variance 780 p (1 - p).
    counts = [(int(erdos_renyi(40, seed, p=0.2).edges(0).sum()) - 40) / 2 for seed in range(400)]
    assert np.mean(counts) == pytest.approx(156, abs=5 * np.sqrt(124.8 / 400))
    assert np.var(counts) == pytest.approx(124.8, rel=0.35)


def test_a_tiny_p_costs_nothing() -> None:
    assert len(erdos_renyi(100_000, 0, p=1e-300).neighbours(0).senders) == 100_000


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_p_is_a_probability(p: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        erdos_renyi(5, 0, p=p)
