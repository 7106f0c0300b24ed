from __future__ import annotations

import pytest
import torch

from surefed.core import DataError
from surefed.theory.fit import average, ratio, share, slope


def test_a_power_law_has_its_slope() -> None:
    times = torch.tensor([1, 10, 100, 1000])
    errors = (3 * times.double() ** -1.5)[:, None].expand(4, 5)
    fitted = slope(times, errors)
    assert (fitted.value, fitted.low, fitted.high) == pytest.approx((-1.5, -1.5, -1.5))


def test_early_times_are_left_out() -> None:
    times = torch.tensor([1, 10, 100, 1000, 10_000])
    errors = torch.where(times < 100, 1.0, 100.0 / times).double()[:, None].expand(5, 2)
    assert slope(times, errors, since=100).value == pytest.approx(-1.0)
    assert slope(times, errors).value > -0.9
    with pytest.raises(DataError, match="three times"):
        slope(times, errors, since=1000)


def test_the_interval_of_a_slope_covers_the_truth_as_often_as_it_says(rng: torch.Generator) -> None:
    times = torch.tensor([10, 30, 100, 300, 1000])
    hits = 0
    for _ in range(100):
        noise = torch.randn(5, 60, generator=rng, dtype=torch.float64).square()
        fitted = slope(times, noise / times[:, None], resamples=200)
        hits += fitted.low <= -1 <= fitted.high
    assert 86 <= hits <= 100


def test_averages_worked_by_hand() -> None:
    # 1, 2, 3: mean 2, standard deviation 1
    found = average(torch.tensor([1.0, 2.0, 3.0]))
    assert found.value == 2.0
    assert found.high - found.value == pytest.approx(1.96 / 3**0.5)
    assert average(torch.tensor([1.0])).high == torch.inf


def test_a_ratio_forgets_what_both_share(rng: torch.Generator) -> None:
    below = torch.rand(50, generator=rng, dtype=torch.float64) + 0.1
    exact = ratio(1.5 * below, below)
    assert (exact.value, exact.low, exact.high) == pytest.approx((1.5, 1.5, 1.5))
    # 2 and 4 over 1 and 3: value 3/2, what is left (0.5 / 2, -0.5 / 2), standard error sqrt(1/8 / 2)
    rough = ratio(torch.tensor([2.0, 4.0]), torch.tensor([1.0, 3.0]))
    assert (rough.value, rough.high) == pytest.approx((1.5, 1.5 + 1.96 / 4))


def test_shares_worked_by_hand() -> None:
    # Wilson's interval of 5 in 10: centre 1/2, half of it z / (1 + z^2/10) sqrt(1/40 + z^2/400)
    found = share(torch.arange(10) < 5)
    assert (found.low, found.high) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    nothing = share(torch.zeros(10, dtype=torch.bool))
    assert (nothing.value, nothing.low) == (0.0, 0.0)
    assert nothing.high == pytest.approx(0.2775, abs=1e-4)  # z^2 / (10 + z^2)
