"""Numbers with an interval: means and slopes over repetitions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from surefed.core import DataError, generator


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured number and the ends of its 95 % interval over repetitions."""

    value: float
    low: float
    high: float


def average(values: Tensor) -> Estimate:
    """The mean of one number per repetition, give or take 1.96 standard errors. [repetition]"""
    value = float(values.double().mean())
    half = 1.96 * float(values.double().std()) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return Estimate(value, value - half, value + half)


def ratio(above: Tensor, below: Tensor) -> Estimate:
    """The ratio of two means over the same repetitions, its interval by linearisation: what both share cancels.

    Args:
        above, below: [repetition].
    """
    value = float(above.mean() / below.mean())
    left = average((above - value * below) / below.mean())
    return Estimate(value, value + left.low, value + left.high)


def share(hits: Tensor) -> Estimate:
    """How often something happened, with Wilson's interval (1927). bool [trial]"""
    count, z = hits.numel(), 1.96
    rate = float(hits.double().mean())
    centre = (rate + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(rate * (1 - rate) / count + z * z / (4 * count * count))
    return Estimate(rate, max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half)))


def slope(times: Tensor, errors: Tensor, *, since: float = 1.0, seed: int = 0, resamples: int = 400) -> Estimate:
    """The slope of log(mean error) over log(time), its interval by resampling repetitions (Efron 1979).

    Args:
        times: [time]. errors: [time, repetition], positive.
        since: earlier times are left out.
    """
    late = times >= since
    if int(late.sum()) < 3:
        raise DataError(f"a slope needs three times, and there are {int(late.sum())} from {since:g} on")
    x, errors = times[late].double().log(), errors[late]
    x = x - x.mean()
    count = errors.shape[1]
    picks = torch.from_numpy(generator(seed, "theory bootstrap").integers(0, count, (resamples, count)))
    means = torch.cat((errors.mean(1, keepdim=True), errors[:, picks].mean(-1)), dim=1)  # [time, 1 + resample]
    slopes = (x[:, None] * means.log()).sum(0) / x.square().sum()
    low, high = torch.quantile(slopes[1:], torch.tensor([0.025, 0.975], dtype=slopes.dtype)).tolist()
    return Estimate(float(slopes[0]), low, high)
