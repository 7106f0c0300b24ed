from __future__ import annotations

import numpy as np
import pytest

from surefed.core import generator
from surefed.data.partitions import Pool
from surefed.data.partitions.natural import natural

OWNERS = ("ann", "bob", "cy", "dee", "nobody")
OWNER = np.array([2, 0, 1, 2, 2, 3, 0, 3, 3, 3])  # ann 2, bob 1, cy 3, dee 4
POOL = Pool(np.zeros(10, dtype=np.int64), OWNER, OWNERS)


def test_everybody_keeps_their_own_under_their_own_name() -> None:
    parts = natural(POOL, None, generator(0, "split"))
    assert {name: part.tolist() for name, part in parts.items()} == {
        "ann": [1, 6],
        "bob": [2],
        "cy": [0, 3, 4],
        "dee": [5, 7, 8, 9],
    }


def test_some_are_chosen_by_lot_among_those_with_enough() -> None:
    chosen = [tuple(natural(POOL, 2, generator(seed, "split"), min_samples=2)) for seed in range(60)]
    assert set(chosen) == {("ann", "cy"), ("ann", "dee"), ("cy", "dee")}  # bob has too few; all pairs come up


def test_the_largest_can_be_taken_instead() -> None:
    assert {tuple(natural(POOL, 2, generator(seed, "split"), largest=True)) for seed in range(9)} == {("cy", "dee")}
    tied = Pool(np.zeros(4, dtype=np.int64), np.array([0, 1, 2, 2]), ("a", "b", "c"))
    chosen = {tuple(natural(tied, 2, generator(seed, "split"), largest=True)) for seed in range(30)}
    assert chosen == {("a", "c"), ("b", "c")}  # ties by lot


@pytest.mark.parametrize(
    ("pool", "clients", "least", "message"),
    [
        (Pool(np.zeros(3, dtype=np.int64)), 2, 1, "does not say whose"),
        (POOL, 5, 1, "4 of the 4 natural clients have at least 1 .* too few to choose 5"),
        (POOL, 3, 3, "2 of the 4 natural clients have at least 3"),
        (POOL, None, 5, "0 of the 4 natural clients"),
    ],
)
def test_too_few_to_choose_from(pool: Pool, clients: int | None, least: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        natural(pool, clients, generator(0, "split"), min_samples=least)
