from __future__ import annotations

import pytest
import torch

from surefed.attacks import ATTACKS

from .test_alie import among, lie

MEANS = torch.tensor([[1.0, 0.0], [3.0, 4.0]])
STARTS = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
"""Updates (1, 0) and (2, 3), on average (1.5, 1.5); the liars start from 5."""


def test_two_clients_worked_by_hand() -> None:
    assert torch.allclose(lie("ipm", among(MEANS, STARTS), epsilon=2.0), torch.full((2, 2), 5 - 2 * 1.5))
    on_model = lie("ipm", among(MEANS, STARTS), epsilon=2.0, on="model")
    assert torch.allclose(on_model, torch.tensor([-4.0, -4.0]).expand(2, 2))


def test_a_tenth_by_default() -> None:
    assert torch.allclose(lie("ipm", among(MEANS, STARTS)), torch.full((2, 2), 5 - 0.15))


def test_the_inner_product_with_the_crowds_update_is_never_positive(rng: torch.Generator) -> None:
    means, starts = torch.randn(2, 7, 30, generator=rng)
    update = torch.stack([mean - start for mean, start in zip(means, starts, strict=True)]).sum(0) / 7
    for epsilon in (0.1, 1.1, 10.0):
        claimed = lie("ipm", among(means, starts), epsilon=epsilon) - 5
        assert torch.allclose(claimed @ update, -epsilon * update.square().sum(), rtol=1e-4)


def test_only_updates_count_wherever_they_started_from() -> None:
    there, here = lie("ipm", among(MEANS + 100, STARTS + 100)), lie("ipm", among(MEANS, STARTS))
    assert torch.allclose(there, here, atol=1e-5)
    assert torch.allclose(lie("ipm", among(MEANS.flip(0), STARTS.flip(0))), here)


def test_epsilon_zero_has_learned_nothing() -> None:
    assert torch.equal(lie("ipm", among(MEANS, STARTS), epsilon=0.0), torch.full((2, 2), 5.0))


def test_who_sees_nobody_judges_by_itself() -> None:
    assert torch.allclose(lie("ipm", among(MEANS[:0], STARTS[:0]), epsilon=0.5), torch.full((2, 2), 5 - 0.5 * 2))


@pytest.mark.parametrize("epsilon", [-0.1, float("nan"), float("inf")])
def test_what_is_out_of_range_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        ATTACKS["ipm"](epsilon=epsilon)
