from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from surefed.attacks import ATTACKS

from .test_alie import among, lie

MEANS = torch.tensor([[1.0, 0.0], [3.0, 4.0]])
STARTS = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
"""Updates (1, 0) and (2, 3), on average (1.5, 1.5); the liars start from 5 and have come to 7; 50 updates back
from 5 is -70."""


@pytest.mark.parametrize(
    ("round", "told"), [(0, 5 - 75.0), (1, 7.0), (4, 7.0), (5, 5 - 75.0), (9, 7.0), (10, 5 - 75.0)]
)
def test_every_fifth_round_fifty_updates_back_worked_by_hand(round: int, told: float) -> None:
    assert torch.equal(lie("pulse", replace(among(MEANS, STARTS), round=round)), torch.full((2, 2), told))


def test_every_round_it_is_inner_product_manipulation() -> None:
    for round in (0, 1, 2):
        seen = replace(among(MEANS, STARTS), round=round)
        assert torch.equal(lie("pulse", seen, every=1, epsilon=3.0), lie("ipm", seen, epsilon=3.0))


def test_it_reckons_with_the_rounds_number_so_it_is_not_replayed() -> None:
    assert not ATTACKS["pulse"]().steady


@pytest.mark.parametrize("options", [{"epsilon": -0.1}, {"epsilon": float("nan")}, {"every": 0}])
def test_what_is_out_of_range_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        ATTACKS["pulse"](**options)
