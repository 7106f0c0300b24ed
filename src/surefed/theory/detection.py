"""General Random: the chance that a receiver sees at least one of the weights that a liar blew up."""

from __future__ import annotations

import math

import numpy as np

from surefed.core import ConfigError

EXACT_TERMS = 1_000_000


def log_miss(weights: int, observed: int, tampered: int) -> float:
    """The logarithm of the chance that none of the tampered weights is observed, to 9 digits up to 1e9 weights.

    log [ C(weights - observed, tampered) / C(weights, tampered) ]. It is symmetric in observed and tampered, so the
    smaller of the two counts the factors 1 - larger / (weights - i). Beyond a million of them Stirling's series is
    used, written so that nothing cancels: plain differences of log-gamma at 1e9 keep no digit of a chance of 1e-9.
    """
    for name, count in (("observed", observed), ("tampered", tampered)):
        if not 0 <= count <= weights:
            raise ConfigError(f"{name} must lie between 0 and the {weights} weights there are, and {count} does not")
    few, many = sorted((observed, tampered))
    if few + many > weights:
        return -math.inf
    if few <= EXACT_TERMS:
        remaining = weights - np.arange(few, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return float(np.log1p(-many / remaining).sum())
    return _stirling(weights, few, many)


def _stirling(weights: int, few: int, many: int) -> float:
    """log of Gamma(n-a+1) Gamma(n-b+1) / (Gamma(n-a-b+1) Gamma(n+1)), where all four are large or n = a + b."""
    a, b = few / weights, many / weights
    rest = weights - few - many

    def entropy(kept: float, taken: float) -> float:
        return kept * math.log1p(-taken) if kept > 0 else 0.0

    def series(count: int) -> float:
        return 0.5 * math.log(count / weights) + 1 / (12 * count) - 1 / (360 * count**3)

    main = weights * (entropy(1 - a, a) + entropy(1 - b, b) - entropy(rest / weights, a + b))
    if rest < EXACT_TERMS:  # Gamma(rest + 1) by itself
        main = weights * (entropy(1 - a, a) + entropy(1 - b, b))
        own = math.lgamma(rest + 1) - rest * math.log(weights) + rest - 0.5 * math.log(2 * math.pi * weights)
        return main + series(weights - few) + series(weights - many) - series(weights) - own
    return main + series(weights - few) + series(weights - many) - series(rest) - series(weights)


def detection(weights: int, observed: int, tampered: int) -> float:
    """The chance that a receiver observes at least one tampered weight, 1 - C(K - K_i, K_c) / C(K, K_c)."""
    return 0.0 - math.expm1(log_miss(weights, observed, tampered))


def never_missed(weights: int, observed: int, tampered: int, looks: int) -> float:
    """The chance that no lie is missed in so many looks, pairs times rounds, with fresh weights each time."""
    miss = math.exp(log_miss(weights, observed, tampered))
    return math.exp(looks * math.log1p(-miss)) if miss < 1 else 0.0


def simulated(
    weights: int, observed: int, tampered: int, trials: int, rng: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether a random choice of tampered weights hit an observed one. bool [trial]"""
    log_miss(weights, observed, tampered)
    return rng.hypergeometric(observed, weights - observed, tampered, trials) > 0
