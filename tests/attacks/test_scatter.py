from __future__ import annotations

import pytest
import torch

from surefed.attacks import ATTACKS
from surefed.core import Belief, Stream

from .test_contract import liars, scene

scatter = ATTACKS["scatter"]


def added(beliefs: Belief, **options: float) -> torch.Tensor:
    """What each liar adds to what it learned; the fixture's updates are 0.1 on every weight. [malicious, weight]"""
    now, tamper = scene(beliefs), scatter(**options).tamper
    assert tamper is not None
    sent = tamper(now, liars())
    assert torch.equal(sent.rho, now.own.rho)
    return sent.mean - now.own.mean


def test_each_adds_a_way_of_its_own_as_long_as_asked(beliefs: Belief) -> None:
    extra = added(beliefs, spread=3.0)
    length = 0.1 * beliefs.mean.shape[1] ** 0.5
    assert extra.norm(dim=1).tolist() == pytest.approx([3 * length] * 2, rel=1e-4)
    one, other = extra
    assert abs(float(one @ other)) < 0.9 * float(one.norm() * other.norm())


def test_the_way_stays_the_same(beliefs: Belief) -> None:
    tamper = scatter().tamper
    assert tamper is not None
    now = scene(beliefs)
    wanted = Stream(0, "lies", ["1", "4"]).normal(beliefs.mean.shape[1], round=0)
    found = tamper(now, liars()).mean - now.own.mean
    for row, way in zip(found, wanted, strict=True):
        assert torch.allclose(row / row.norm(), way / way.norm(), atol=1e-4)


def test_without_a_way_it_is_the_trojan(beliefs: Belief) -> None:
    assert not added(beliefs, spread=0.0).any()
    inputs = torch.zeros(8, 1, 28, 28)
    trigger, known = scatter(target=3).trigger, ATTACKS["trojan"](target=3).trigger
    assert trigger is not None
    assert known is not None
    assert trigger.target == known.target == 3
    assert torch.equal(trigger.stamp(inputs, 0.0), known.stamp(inputs, 0.0))


@pytest.mark.parametrize("spread", [-0.1, float("nan"), float("inf")])
def test_a_spread_that_makes_no_sense_is_refused(spread: float) -> None:
    with pytest.raises(ValueError, match="spread"):
        scatter(spread=spread)
