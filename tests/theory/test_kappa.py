from __future__ import annotations

import math

import pytest

from surefed.core import ConfigError
from surefed.theory.kappa import agreement_for, at_most, band_for, log10_pass, pass_chance, violation

CNN = 97_982


def test_the_papers_network_at_the_papers_band() -> None:
    """If deviations were N(0, std^2): 10^-1982 at kappa 2, 10^-115 at 3, 0.2 % at 4, 95 % at 5.02."""
    assert log10_pass(CNN, 2.0, 0.0) == pytest.approx(-1982, abs=1)
    assert log10_pass(CNN, 3.0, 0.0) == pytest.approx(-115, abs=0.1)
    assert pass_chance(CNN, 4.0, 0.0) == pytest.approx(0.002, abs=1e-4)
    assert band_for(CNN, 0.95, 0.0) == pytest.approx(5.02, abs=0.01)
    assert band_for(CNN, 0.5, 1.0) == pytest.approx(6.35, abs=0.01)


def test_one_weight() -> None:
    assert 1 - violation(2.0, 0.0) == pytest.approx(0.9545, abs=1e-4)  # the paper says 0.97
    assert 1 - violation(4.0, 1.0) == pytest.approx(0.99532, abs=1e-5)  # and 0.999


def test_the_band_is_the_inverse_of_the_chance() -> None:
    for weights in (1, 50, 10**6, 10**9):
        for peer in (0.0, 1.0):
            assert pass_chance(weights, band_for(weights, 0.9, peer), peer) == pytest.approx(0.9, rel=1e-6)


@pytest.mark.parametrize(("trials", "chance"), [(1, 0.3), (12, 0.5), (40, 0.02), (40, 0.9), (300, 0.1)])
def test_the_binomial_law_against_counting(trials: int, chance: float) -> None:
    for count in range(-1, trials + 2):
        terms = (math.comb(trials, v) * chance**v * (1 - chance) ** (trials - v) for v in range(min(count, trials) + 1))
        assert at_most(count, trials, chance) == pytest.approx(math.fsum(terms), rel=1e-9, abs=1e-15)


def test_the_binomial_law_at_its_limits() -> None:
    assert at_most(3, 10, 0.0) == 1.0
    assert at_most(3, 10, 1.0) == 0.0
    # a billion trials: three standard deviations above and below the mean, nearly normal
    spread = math.sqrt(1e9 * 1e-3 * 0.999)
    assert at_most(round(1e6 + 3 * spread), 10**9, 1e-3) == pytest.approx(0.99865, abs=1e-4)
    assert at_most(round(1e6 - 3 * spread), 10**9, 1e-3) == pytest.approx(0.00135, abs=1e-4)


@pytest.mark.parametrize(("weights", "kappa"), [(6, 2.0), (1000, 4.0), (CNN, 2.0)])
def test_the_agreement_found_is_just_enough(weights: int, kappa: float) -> None:
    share = agreement_for(weights, kappa, 0.95)
    assert pass_chance(weights, kappa, 1.0, share) >= 0.95
    assert pass_chance(weights, kappa, 1.0, share + 1 / weights) < 0.95


def test_a_wide_band_needs_no_help() -> None:
    assert agreement_for(1000, 20.0) == 1.0


def test_values_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match="negative"):
        violation(-1.0)
    with pytest.raises(ConfigError, match="negative"):
        violation(float("nan"))
    with pytest.raises(ConfigError, match="agreement"):
        pass_chance(10, 2.0, agreement=0.0)
    with pytest.raises(ConfigError, match="chance"):
        band_for(10, 1.0)
