"""How wide a band must be: the chance that an honest peer passes a test on every one of K weights.

A peer's mean differs from the own one by a normal number with variance s^2 (1 + r^2) on each weight, s being the own
std and r the peer's std in units of it; weights are taken as independent and beliefs as calibrated.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from surefed.core import ConfigError


def violation(kappa: float, peer: float = 1.0) -> float:
    """The chance that one weight of an honest peer lies outside the band; `peer` is its std in own stds."""
    if not kappa >= 0 or not peer >= 0:
        raise ConfigError(f"kappa and the peer's std must not be negative, and {kappa} and {peer} are given")
    return math.erfc(kappa / math.sqrt(2 * (1 + peer * peer)))


def log10_pass(weights: int, kappa: float, peer: float = 1.0) -> float:
    """The chance that all weights of an honest peer pass, as a power of ten: it may be far too small for a float."""
    outside = violation(kappa, peer)
    return weights * math.log1p(-outside) / math.log(10) if outside < 1 else -math.inf


def pass_chance(weights: int, kappa: float, peer: float = 1.0, agreement: float = 1.0) -> float:
    """The chance that an honest peer is trusted when a share `agreement` of its weights must lie inside the band."""
    if not 0 < agreement <= 1:
        raise ConfigError(f"agreement must lie in (0, 1], not {agreement}")
    tolerated = int((1 - agreement) * weights + 1e-9)
    return at_most(tolerated, weights, violation(kappa, peer))


def band_for(weights: int, chance: float = 0.95, peer: float = 1.0) -> float:
    """The kappa at which an honest peer passes on every weight with this chance."""
    if not 0 < chance < 1:
        raise ConfigError(f"a chance lies between 0 and 1, and {chance} does not")
    outside = -math.expm1(math.log(chance) / weights)
    return -float(torch.special.ndtri(torch.tensor(outside / 2, dtype=torch.float64))) * math.sqrt(1 + peer * peer)


def agreement_for(weights: int, kappa: float, chance: float = 0.95, peer: float = 1.0) -> float:
    """The largest share of agreement at which an honest peer passes with this chance; it restores a narrow band."""
    outside = violation(kappa, peer)
    low, high = -1, weights  # tolerating `low` is too few, `high` enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if at_most(middle, weights, outside) >= chance else (middle, high)
    return 1 - high / weights


def at_most(count: int, trials: int, chance: float) -> float:
    """P(Binomial(trials, chance) <= count), to 1e-9 for up to 1e9 trials.

    Sums the terms from `count` away from the mean, each from the one before; the first is Loader's (2000) form of the
    binomial density, in which nothing large cancels.
    """
    if count < 0 or count >= trials or chance <= 0 or chance >= 1:
        return float(count >= 0 and (count >= trials or chance <= 0))
    terms = int(60 * math.sqrt(trials * chance * (1 - chance)) + 400)
    odds = chance / (1 - chance)
    if count <= trials * chance:  # downwards from count
        at = count - np.arange(min(terms, count), dtype=np.float64)
        ratios = at / (trials - at + 1) / odds
        return float(_density(count, trials, chance) * (1 + np.cumprod(ratios).sum()))
    at = count + 1 + np.arange(min(terms, trials - count - 1), dtype=np.float64)
    ratios = (trials - at) / (at + 1) * odds
    return float(1 - _density(count + 1, trials, chance) * (1 + np.cumprod(ratios).sum()))


def _density(count: int, trials: int, chance: float) -> float:
    if count == 0:
        return math.exp(trials * math.log1p(-chance))
    if count == trials:
        return math.exp(trials * math.log(chance))
    rest = trials - count
    log = _stirling_error(trials) - _stirling_error(count) - _stirling_error(rest)
    log -= _deviance(count, trials * chance) + _deviance(rest, trials * (1 - chance))
    return math.exp(log) * math.sqrt(trials / (2 * math.pi * count * rest))


def _stirling_error(count: int) -> float:
    """log Gamma(count + 1) less Stirling's formula."""
    if count < 16:
        return math.lgamma(count + 1) - (count + 0.5) * math.log(count) + count - 0.5 * math.log(2 * math.pi)
    return 1 / (12 * count) - 1 / (360 * count**3) + 1 / (1260 * count**5)


def _deviance(count: float, mean: float) -> float:
    """count log(count / mean) + mean - count, without cancellation where the two are close."""
    gap = (count - mean) / mean
    if abs(gap) > 0.1:
        return count * math.log(count / mean) + mean - count
    # (1 + g) log(1 + g) - g = sum over n >= 2 of (-g)^n / (n (n - 1))
    return mean * sum((-gap) ** n / (n * (n - 1)) for n in range(2, 16))
