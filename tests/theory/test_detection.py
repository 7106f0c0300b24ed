from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import pytest

from surefed.core import ConfigError, generator
from surefed.theory.detection import _stirling, detection, log_miss, never_missed, simulated
from surefed.theory.experiments.detection import observed_for


@pytest.mark.parametrize("weights", [1, 4, 7])
def test_against_counting_every_choice(weights: int) -> None:
    for observed in range(weights + 1):
        for tampered in range(weights + 1):
            choices = list(combinations(range(weights), tampered))
            hits = sum(any(k < observed for k in choice) for choice in choices)
            assert detection(weights, observed, tampered) == pytest.approx(hits / len(choices), abs=1e-14)


@pytest.mark.parametrize(("weights", "observed", "tampered"), [(60, 7, 9), (500, 40, 3), (1000, 300, 200)])
def test_against_exact_fractions(weights: int, observed: int, tampered: int) -> None:
    exact = Fraction(math.comb(weights - observed, tampered), math.comb(weights, tampered))
    assert log_miss(weights, observed, tampered) == pytest.approx(
        math.log(exact.numerator) - math.log(exact.denominator), rel=1e-12
    )


def test_a_billion_weights_keep_their_digits() -> None:
    """One weight of a billion tampered with, one observed: 1e-9, of which plain log-gammas would keep nothing."""
    assert detection(10**9, 1, 1) == pytest.approx(1e-9, rel=1e-12)
    assert detection(10**9, 1, 123_456_789) == pytest.approx(0.123456789, rel=1e-9)
    assert detection(10**9, 10**6, 10**6) == 1.0


@pytest.mark.parametrize(
    ("weights", "few", "many"), [(10**7, 900_000, 10**6), (10**7, 10**6, 8_900_000), (2 * 10**6, 10**6, 10**6)]
)
def test_stirling_agrees_with_the_product(weights: int, few: int, many: int) -> None:
    assert _stirling(weights, few, many) == pytest.approx(log_miss(weights, few, many), rel=1e-9)


def test_it_is_symmetric_and_grows() -> None:
    assert log_miss(1000, 30, 70) == pytest.approx(log_miss(1000, 70, 30))
    chances = [detection(1000, observed, 20) for observed in range(0, 1001, 50)]
    assert chances == sorted(chances)
    assert chances[0] == 0.0
    assert chances[-1] == 1.0


@pytest.mark.parametrize(
    ("weights", "observed", "tampered"), [(50, 5, 6), (10**6, 1000, 700), (999_999_999, 30_000, 30_000)]
)
def test_against_drawing(weights: int, observed: int, tampered: int) -> None:
    hits = simulated(weights, observed, tampered, 20_000, generator(0, "test"))
    assert hits.mean() == pytest.approx(detection(weights, observed, tampered), abs=0.015)  # four standard errors


def test_many_looks() -> None:
    # a chance of 1/2 each time, three times
    assert detection(2, 1, 1) == pytest.approx(0.5)
    assert never_missed(2, 1, 1, 3) == pytest.approx(0.125)
    assert never_missed(2, 0, 1, 3) == 0.0


def test_the_share_to_be_observed_is_the_smallest() -> None:
    least = round(observed_for(10_000, 5, 0.01) * 10_000)
    assert math.exp(log_miss(10_000, least, 5)) <= 0.01 < math.exp(log_miss(10_000, least - 1, 5))


@pytest.mark.parametrize(
    ("observed", "tampered", "name"), [(3, 11, "tampered"), (11, 3, "observed"), (-1, 3, "observed")]
)
def test_more_than_there_are_is_refused(observed: int, tampered: int, name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} must lie between 0 and the 10 weights"):
        detection(10, observed, tampered)
