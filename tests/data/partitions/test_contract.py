"""What every partition keeps to, whoever writes it."""

from __future__ import annotations

import numpy as np
import pytest

from surefed.core import generator
from surefed.core.registry import options
from surefed.data.partitions import PARTITIONS, Parts, Pool

LABELS = np.repeat(np.arange(10), 60)
POOL = Pool(LABELS, owner=np.arange(600) % 12, owners=tuple("abcdefghijkl"))


def dealt(name: str, seed: int, clients: int = 12, **options: object) -> Parts:
    parts: Parts = PARTITIONS[name](POOL, clients, generator(seed, "split"), **options)
    return parts


@pytest.mark.parametrize("name", PARTITIONS)
def test_every_sample_goes_to_one_client_and_again(name: str) -> None:
    parts = dealt(name, 3)
    assert len(parts) == 12
    assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(600))
    again = dealt(name, 3)
    assert list(again) == list(parts)
    assert all(np.array_equal(parts[client], again[client]) for client in parts)


@pytest.mark.parametrize("name", [name for name in PARTITIONS if name != "natural"])
def test_another_seed_deals_otherwise_and_clients_are_numbered(name: str) -> None:
    one, other = dealt(name, 3), dealt(name, 4)
    assert list(one) == [str(at) for at in range(12)]
    assert not all(np.array_equal(one[client], other[client]) for client in one)


@pytest.mark.parametrize("name", PARTITIONS)
def test_a_minimum_that_cannot_be_kept_names_the_fix(name: str) -> None:
    assert "min_samples" in options(PARTITIONS[name])
    # 600 samples are 50 each for 12 clients, so that 51 cannot be had by all
    with pytest.raises(ValueError, match=r"min_samples.*fewer clients|fewer clients.*min_samples"):
        dealt(name, 0, min_samples=51)


@pytest.mark.parametrize("name", PARTITIONS)
def test_a_minimum_that_can_be_kept_is(name: str) -> None:
    soft = {"alpha": 100.0} if name == "dirichlet" else {}
    assert min(len(part) for part in dealt(name, 0, min_samples=30, **soft).values()) >= 30
