from __future__ import annotations

import pytest
import torch
from torch import Tensor

from .test_alie import among, lie
from .test_min_max import DIRECTIONS, LINE, crowds, way_out


def sums(means: Tensor, at: Tensor) -> tuple[float, float]:
    """The summed squared distances of a point, and the least of a client, the slow plain way."""
    rows = list(means.double())
    total = sum(float((at.double() - row).square().sum()) for row in rows)
    return total, min(sum(float((one - other).square().sum()) for other in rows) for one in rows)


def test_four_clients_on_a_line_worked_by_hand() -> None:
    """The clients at -1 and 1 have 4 + 4 + 16 = 24; a lie at -m has 20 + 4 m^2, so m is 1."""
    for direction in ("-sd", "-unit", "-sign"):
        told = lie("min_sum", among(LINE, LINE - 1), direction=direction)
        assert told.flatten().tolist() == pytest.approx([-1.0, -1.0], abs=1e-5)


@DIRECTIONS
def test_the_lie_is_within_its_bound_and_a_larger_step_is_not(direction: str, rng: torch.Generator) -> None:
    means, starts = crowds(rng)
    one, other = lie("min_sum", among(means, starts), direction=direction)
    assert torch.equal(one, other)
    away = way_out(means, starts, direction)
    step = (one - means.mean(0)) @ away / (away @ away)
    assert step.item() > 0
    total, bound = sums(means, one)
    assert total <= bound * (1 + 1e-5)
    total, bound = sums(means, means.mean(0) + 1.001 * step * away)
    assert total > bound


@DIRECTIONS
def test_the_lie_is_as_far_from_the_mean_as_the_most_central_client(direction: str, rng: torch.Generator) -> None:
    """Summed squares about any point are those about the mean plus n times its squared distance from the mean."""
    means, starts = crowds(rng)
    told = lie("min_sum", among(means, starts), direction=direction)[0]
    nearest = (means - means.mean(0)).norm(dim=1).min()
    assert (told - means.mean(0)).norm().item() == pytest.approx(nearest.item(), rel=1e-4)


def test_it_is_never_farther_out_than_min_max(rng: torch.Generator) -> None:
    means, starts = crowds(rng)
    middle = means.mean(0)
    near, far = (lie(name, among(means, starts))[0] for name in ("min_sum", "min_max"))
    assert (near - middle).norm().item() < (far - middle).norm().item()
