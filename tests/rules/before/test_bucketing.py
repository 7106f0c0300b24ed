from __future__ import annotations

import pytest
import torch

from surefed.core import Belief
from surefed.rules import RULES, Receivers
from surefed.rules.before import BEFORE, preceded

from ..test_contract import step

APART = torch.zeros(5, 5, dtype=torch.float64)


def test_everybody_sits_in_one_bucket_and_buckets_are_full_but_the_last() -> None:
    weight, of = BEFORE["bucketing"](size=2).mixes(APART, 0, 7)
    assert weight.shape == (3, 5)
    assert sorted((weight > 0).sum(1).tolist()) == [1, 2, 2]
    assert torch.allclose(weight.sum(1), torch.ones(3, dtype=torch.float64))
    assert [int((weight[:, at] > 0).nonzero()) for at in range(5)] == of.tolist()


def test_shuffled_anew_every_round_and_by_every_seed() -> None:
    def of(seed: int, round: int) -> list[int]:
        return BEFORE["bucketing"](size=1, seed=seed).mixes(torch.zeros(30, 30).double(), 0, round).of.tolist()

    assert of(0, 1) == of(0, 1)
    assert of(0, 1) != of(0, 2)
    assert of(0, 1) != of(1, 1)


def test_one_bucket_for_all_is_the_mean_and_one_each_is_nothing() -> None:
    mean = torch.randn(5, 3, generator=torch.Generator().manual_seed(2))
    sent, edges = Belief(mean, torch.zeros_like(mean)), torch.ones(5, 5, dtype=torch.bool)
    at = Receivers(sent, 0, 1)
    whole = step(preceded(RULES["median"](), BEFORE["bucketing"](size=9)), at, sent, edges).social.mean
    assert torch.allclose(whole, mean.mean(0).expand(5, -1), atol=1e-6)
    single = step(preceded(RULES["median"](), BEFORE["bucketing"](size=1)), at, sent, edges).social.mean
    assert torch.allclose(single, step(RULES["median"](), at, sent, edges).social.mean, atol=1e-6)


def test_a_member_is_trusted_with_its_bucket_and_honest_only_with_honest_ones() -> None:
    mean = torch.arange(6.0)[:, None]
    sent, edges = Belief(mean, torch.zeros_like(mean)), torch.ones(6, 6, dtype=torch.bool)
    honest = torch.tensor([True, True, True, True, True, False])
    step_before = BEFORE["bucketing"](size=2)
    of = step_before.mixes(torch.zeros(6, 6).double(), 0, 0).of
    outcome = step(preceded(RULES["oracle"](), step_before), Receivers(sent, 0, 1, honest=honest), sent, edges)
    spoiled = of == of[5]
    assert torch.equal(outcome.inspection.trusted, (~spoiled).expand(6, -1))
    assert torch.allclose(outcome.social.mean, mean[~spoiled].mean().expand(6, 1))


def test_options() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        BEFORE["bucketing"](size=0)
