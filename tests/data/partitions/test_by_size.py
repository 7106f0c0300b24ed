from __future__ import annotations

import numpy as np
import pytest

from surefed.core import generator
from surefed.data.partitions import Pool
from surefed.data.partitions.by_size import by_size

LABELS = np.repeat(np.arange(10), 60)


def sizes_of(clients: int, **options: object) -> list[int]:
    return [len(part) for part in by_size(Pool(LABELS), clients, generator(0, "split"), **options).values()]  # type: ignore[arg-type]


def test_a_power_law_worked_by_hand() -> None:
    # 600 - 3 x 50 = 450 to spare in proportion to 1, 1/2, 1/3 = 6/11, 3/11, 2/11: 245.45, 122.73, 81.82;
    # the sums 245.45, 368.18, 450 rounded are 245, 368, 450
    assert sizes_of(3, exponent=1.0, min_samples=50) == [50 + 245, 50 + 123, 50 + 82]
    assert sizes_of(3, exponent=0.0) == [200, 200, 200]
    # (1, 2, 3)^-2 = 1, 1/4, 1/9 = 36, 9, 4 of 49: 597 x 36/49 = 438.6, x 45/49 = 548.3, 597
    assert sizes_of(3, exponent=2.0, min_samples=1) == [1 + 439, 1 + 109, 1 + 49]


def test_given_sizes_are_given_and_the_rest_is_left() -> None:
    assert sizes_of(3, sizes=(5, 300, 20), min_samples=5) == [5, 300, 20]


def test_inside_it_is_iid() -> None:
    first = by_size(Pool(LABELS), 2, generator(0, "split"))["0"]
    # about 397 of 600: 39.7 of each class, give or take sqrt(60 x .66 x .34) = 3.7
    assert np.abs(np.bincount(LABELS[first], minlength=10) - len(first) / 10).max() < 4 * 3.7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": (5, 5)}, "3 clients need as many sizes, not 2"),
        ({"sizes": (500, 100, 1)}, "at most the 600 training samples"),
        ({"sizes": (500, 100, 0)}, "positive"),
        ({"sizes": (500, 50, 3)}, "client 2 would get 3 samples, fewer than min_samples = 10"),
        ({"exponent": -1.0}, "exponent must not be negative"),
        ({"min_samples": 201}, "fewer than min_samples = 201 for each of 3 clients"),
    ],
)
def test_sizes_that_cannot_be_had(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sizes_of(3, **options)
