from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from surefed.core import Belief, headings, own_heading
from surefed.core import heading as module

pytestmark = pytest.mark.usefixtures("each_path")
SEEDS = st.integers(0, 2**20)


def made(seed: int, receivers: int = 4, senders: int = 5, weights: int = 33) -> tuple[Belief, Tensor, Tensor]:
    rng = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=rng)

    return Belief(random(receivers, weights), random(receivers, weights) - 3), random(weights), random(senders, weights)


def plainly(local: Belief, start: Tensor, means: Tensor) -> list[list[float]]:
    """One pair, one weight at a time."""
    table = []
    for mean, std in zip(local.mean.tolist(), local.std.tolist(), strict=True):
        row = []
        for other in means.tolist():
            a = [(m - s) / d for m, s, d in zip(mean, start.tolist(), std, strict=True)]
            b = [(m - s) / d for m, s, d in zip(other, start.tolist(), std, strict=True)]
            dot = sum(x * y for x, y in zip(a, b, strict=True))
            row.append(dot / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5)
        table.append(row)
    return table


def test_a_case_worked_by_hand() -> None:
    """Ways (2, 0) and (1, 1) with std 1 and 1: cos 45 degrees. With std 1 and 0.5 the second is (1, 2): 1 / sqrt 5."""
    rho = torch.tensor([[1.0, 1.0], [1.0, 0.5]]).expm1().log()
    local = Belief(torch.tensor([[3.0, 1.0], [3.0, 1.0]]), rho)
    found = headings(local, torch.ones(2), torch.tensor([[2.0, 2.0]]), torch.ones(2, 1, dtype=torch.bool))
    assert found[:, 0].tolist() == pytest.approx([0.5**0.5, 5**-0.5], rel=1e-6)


@given(seed=SEEDS)
def test_it_is_the_plain_formula(seed: int) -> None:
    local, start, means = made(seed)
    everybody = torch.ones(4, 5, dtype=torch.bool)
    wanted = torch.tensor(plainly(local, start, means), dtype=torch.float64)
    assert torch.allclose(headings(local, start, means, everybody), wanted, atol=1e-5)


@given(seed=SEEDS)
def test_tiles_and_pairs_change_nothing(seed: int) -> None:
    local, start, means = made(seed, senders=9)
    whole = headings(local, start, means, torch.ones(4, 9, dtype=torch.bool))
    few = torch.zeros(4, 9, dtype=torch.bool)
    few[torch.arange(4), torch.arange(4) * 2] = True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TILE", 5)
        patch.setattr(module, "PAIRS", 40)
        assert torch.allclose(headings(local, start, means, torch.ones(4, 9, dtype=torch.bool)), whole, atol=1e-12)
        some = headings(local, start, means, few)
    assert torch.allclose(some[few], whole[few], atol=1e-12)
    assert not some[~few].any()


@given(seed=SEEDS, length=st.floats(0.01, 100.0))
def test_how_far_somebody_went_does_not_matter(seed: int, length: float) -> None:
    local, start, means = made(seed)
    everybody = torch.ones(4, 5, dtype=torch.bool)
    farther = start + length * (means - start)
    assert torch.allclose(
        headings(local, start, means, everybody), headings(local, start, farther, everybody), atol=1e-4
    )


def test_a_claim_of_1e20_is_a_number() -> None:
    local, start, means = made(3)
    means[2, 7] = -1e20
    found = headings(local, start, means, torch.ones(4, 5, dtype=torch.bool))
    assert torch.isfinite(found).all()
    assert (found.abs() <= 1 + 1e-9).all()


def test_infinite_doubt_does_not_count() -> None:
    local, start, means = made(5)
    deaf = Belief(local.mean, local.rho.index_fill(1, torch.tensor([0]), torch.inf))
    others = means.clone()
    others[:, 0] = 1e6
    everybody = torch.ones(4, 5, dtype=torch.bool)
    assert torch.equal(headings(deaf, start, means, everybody), headings(deaf, start, others, everybody))


@given(seed=SEEDS)
def test_a_heading_of_ones_own_is_that_of_a_pair(seed: int) -> None:
    local, start, means = made(seed, senders=4)
    pairs = headings(local, start, means, torch.ones(4, 4, dtype=torch.bool))
    assert torch.allclose(own_heading(local, start, means), pairs.diagonal(), atol=1e-12)


def test_nobody_who_stands_still_has_a_heading() -> None:
    local, start, _ = made(1)
    assert not headings(local, start, start.expand(2, -1), torch.ones(4, 2, dtype=torch.bool)).any()
