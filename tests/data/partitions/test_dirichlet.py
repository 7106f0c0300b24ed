from __future__ import annotations

import numpy as np
import pytest

from surefed.core import generator
from surefed.data.partitions import Pool
from surefed.data.partitions.dirichlet import dirichlet

LABELS = np.repeat(np.arange(10), 60)


def test_small_alpha_skews_and_large_alpha_does_not() -> None:
    def skew(alpha: float) -> float:
        parts = dirichlet(Pool(LABELS), 10, generator(0, "split"), alpha=alpha, min_samples=5).values()
        return float(np.mean([np.bincount(LABELS[part], minlength=10).max() / len(part) for part in parts]))

    assert skew(100.0) < 0.2 < 0.45 < skew(0.1)


def test_draws_that_never_reach_the_minimum() -> None:
    with pytest.raises(ValueError, match="raise alpha"):
        dirichlet(Pool(LABELS), 50, generator(0, "split"), alpha=0.01, min_samples=10, tries=20)
    with pytest.raises(ValueError, match="alpha must be positive"):
        dirichlet(Pool(LABELS), 5, generator(0, "split"), alpha=0)
