from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from surefed.attacks import ATTACKS
from surefed.core import Belief

from .test_contract import MALICIOUS, liars, scene

WEIGHTS = 200_000
ONES = Belief(torch.ones(6, WEIGHTS), torch.zeros(6, WEIGHTS))


def send(beliefs: Belief, round: int = 0, **options: object) -> Belief:
    told = replace(scene(beliefs), round=round)
    return ATTACKS["general_random"](**options).send(beliefs, told, liars()).belief


def hits(round: int = 0, p: float = 0.01) -> Tensor:
    """Which weights the liars multiplied. bool [malicious, weight]"""
    return send(ONES, round, p=p).mean[MALICIOUS] != 1


def test_one_in_two_thousand_is_multiplied_and_the_rest_is_true() -> None:
    sent = send(ONES).mean[MALICIOUS]
    assert sent.unique().tolist() == [pytest.approx(-1e20), 1.0]
    assert (sent != 1).float().mean(1).tolist() == pytest.approx([5e-4, 5e-4], rel=0.3)  # 100 each, give or take 30


def test_liars_and_rounds_draw_independently() -> None:
    one, other = hits(round=0), hits(round=1)
    for first, second in ((one[0], one[1]), (one[0], other[0]), (one[1], other[1])):
        assert (first & second).sum().item() == pytest.approx(WEIGHTS * 0.01**2, abs=20)  # 20 expected
    assert torch.equal(one, hits(round=0))


def test_a_smaller_p_hits_a_part_of_what_a_larger_one_hits() -> None:
    few, many = hits(p=0.001), hits(p=0.01)
    assert bool((few <= many).all())
    assert 0 < int(few.sum()) < int(many.sum())


def test_the_limits_tell_the_truth_or_multiply_all(beliefs: Belief) -> None:
    assert torch.equal(send(beliefs, p=0.0).mean, beliefs.mean)
    assert torch.equal(send(beliefs, factor=1.0).mean, beliefs.mean)
    assert torch.equal(send(beliefs, p=1.0, factor=10.0).mean[MALICIOUS], 10 * beliefs.mean[MALICIOUS])
    assert torch.equal(send(beliefs, p=1.0).rho, beliefs.rho)


@pytest.mark.parametrize("options", [{"p": -0.1}, {"p": 1.1}, {"factor": float("nan")}, {"factor": float("inf")}])
def test_what_is_out_of_range_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        ATTACKS["general_random"](**options)
