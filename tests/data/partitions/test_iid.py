from __future__ import annotations

import numpy as np

from surefed.core import generator
from surefed.data.partitions import Pool
from surefed.data.partitions.iid import iid

LABELS = np.repeat(np.arange(10), 60)


def test_iid_is_even_and_mixed() -> None:
    parts = iid(Pool(LABELS), 7, generator(0, "split")).values()
    assert {len(part) for part in parts} == {85, 86}
    assert all(len(np.unique(LABELS[part])) == 10 for part in parts)


def test_iid_shuffles_even_what_is_sorted() -> None:
    # 300 of 600 sorted labels: a random half has 30 of each class, give or take sqrt(60 / 4 * 300 / 599) = 2.7
    first = iid(Pool(LABELS), 2, generator(1, "split"))["0"]
    counts = np.bincount(LABELS[first], minlength=10)
    assert np.abs(counts - 30).max() <= 4 * 2.8
    assert np.any(np.diff(first) < 0)
