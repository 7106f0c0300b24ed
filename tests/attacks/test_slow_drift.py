from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from surefed.attacks import ATTACKS
from surefed.core import Belief

from .test_contract import liars, scene

slow_drift = ATTACKS["slow_drift"]


def stds(beliefs: Belief, round: int, **options: float) -> torch.Tensor:
    """How many of its own stds each liar is away from the truth. [malicious, weight]"""
    now = replace(scene(beliefs), round=round)
    return (slow_drift(**options).tamper(now, liars()).mean - now.own.mean) / now.own.std


@pytest.mark.parametrize(("round", "far"), [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.5), (6, 2.0), (10, 4.0), (1000, 7.0)])
def test_half_a_std_farther_every_round_up_to_the_limit(beliefs: Belief, round: int, far: float) -> None:
    away = stds(beliefs, round, first=2, limit=7.0).abs()
    assert torch.allclose(away, torch.tensor(far), atol=1e-3)


def test_all_liars_go_the_same_way_in_every_round(beliefs: Belief) -> None:
    one, later = stds(beliefs, 4).sign(), stds(beliefs, 9).sign()
    assert torch.equal(one[0], one[1])
    assert torch.equal(one, later)


def test_the_way_is_up_and_down_alike(rng: torch.Generator) -> None:
    many = Belief(torch.zeros(6, 10_000), torch.zeros(6, 10_000))
    assert stds(many, 4)[0].sign().mean().abs().item() < 0.05


def test_values_out_of_range_are_refused() -> None:
    for options in ({"rate": -1.0}, {"limit": -1.0}):
        with pytest.raises(ValueError, match="negative"):
            slow_drift(**options)
