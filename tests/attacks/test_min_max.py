from __future__ import annotations

import pytest
import torch
from torch import Tensor

from surefed.attacks.alie import spread

from .test_alie import among, lie

DIRECTIONS = pytest.mark.parametrize("direction", ["-sd", "-unit", "-sign"])
LINE = torch.tensor([[-3.0], [-1.0], [1.0], [3.0]])


def crowds(rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Seven clients of thirty weights, one much farther out than the others, and what they started from."""
    starts = torch.randn(7, 30, generator=rng)
    scale = torch.tensor([1.0, 1, 1, 1, 1, 1, 4])[:, None]
    return starts + 0.3 + scale * torch.randn(7, 30, generator=rng), starts


def way_out(means: Tensor, starts: Tensor, direction: str) -> Tensor:
    update = (means - starts).mean(0)
    return {"-sd": -spread(means), "-unit": -update / update.norm(), "-sign": -update.sign()}[direction]


def largest(means: Tensor, at: Tensor) -> tuple[float, float]:
    """The largest distance from a point to a client and between clients, the slow plain way."""
    rows = list(means.double())
    far = max(float((at.double() - row).norm()) for row in rows)
    return far, max(float((one - other).norm()) for one in rows for other in rows)


def test_four_clients_on_a_line_worked_by_hand() -> None:
    """The crowd is 6 wide, so the lie may be 6 below the client at 3, whichever way the step is measured."""
    for direction in ("-sd", "-unit", "-sign"):
        told = lie("min_max", among(LINE, LINE - 1), direction=direction)
        assert told.flatten().tolist() == pytest.approx([-3.0, -3.0], abs=1e-5)


@DIRECTIONS
def test_the_lie_is_within_its_bound_and_a_larger_step_is_not(direction: str, rng: torch.Generator) -> None:
    means, starts = crowds(rng)
    one, other = lie("min_max", among(means, starts), direction=direction)
    assert torch.equal(one, other)
    away = way_out(means, starts, direction)
    step = (one - means.mean(0)) @ away / (away @ away)
    assert step.item() > 0
    assert torch.allclose(one, means.mean(0) + step * away, atol=1e-5)
    far, bound = largest(means, one)
    assert far <= bound * (1 + 1e-5)
    far, bound = largest(means, means.mean(0) + 1.001 * step * away)
    assert far > bound


@DIRECTIONS
@pytest.mark.parametrize("name", ["min_max", "min_sum"])
def test_order_and_place_of_the_crowd_do_not_matter(name: str, direction: str, rng: torch.Generator) -> None:
    means, starts = crowds(rng)
    told = lie(name, among(means, starts), direction=direction)
    order = torch.tensor([3, 6, 0, 1, 5, 2, 4])
    assert torch.allclose(lie(name, among(means[order], starts[order]), direction=direction), told, atol=1e-4)
    assert torch.allclose(lie(name, among(means + 50, starts + 50), direction=direction), told + 50, atol=1e-3)


@DIRECTIONS
@pytest.mark.parametrize("name", ["min_max", "min_sum"])
def test_where_all_agree_so_do_the_liars(name: str, direction: str) -> None:
    same = torch.tensor([[1.0, -2.0]])
    for seen in (same, same.expand(3, 2)):
        assert torch.equal(lie(name, among(seen, seen - 1), direction=direction), same.expand(2, 2))
        assert torch.equal(lie(name, among(seen, seen), direction=direction), same.expand(2, 2))
    assert torch.equal(lie(name, among(same[:0]), direction=direction), torch.full((2, 2), 7.0))
