from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surefed.dashboard.downsample import evenly, extremes


def test_few_values_are_all_kept_and_missing_ones_are_not() -> None:
    assert extremes(np.array([1.0, np.nan, 2.0]), 5).tolist() == [0, 2]


def test_a_peak_of_one_round_among_8000_is_kept() -> None:
    values = np.sin(np.arange(8000) / 500)
    values[4321], values[77] = 9.0, -9.0
    kept = extremes(values, 500)
    assert len(kept) <= 500
    assert {0, 77, 4321, 7999} <= set(kept.tolist())


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400), st.integers(4, 60))
def test_ends_and_extremes_stay_and_the_order_too(numbers: list[float], most: int) -> None:
    values = np.array(numbers)
    kept = extremes(values, most)
    assert len(kept) <= max(most, 4)
    assert kept.tolist() == sorted(set(kept.tolist()))
    assert {0, len(values) - 1} <= set(kept.tolist())
    assert values[kept].max() == values.max()
    assert values[kept].min() == values.min()


def test_evenly_spread_places_hold_both_ends() -> None:
    assert evenly(3, 5) == [0, 1, 2]
    assert evenly(101, 5) == [0, 25, 50, 75, 100]
    assert evenly(0, 5) == []
