from __future__ import annotations

import pytest
import torch

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import CLIENTS, step, world


def test_one_step_worked_by_hand() -> None:
    """Of 0, 0 and 9 the mean is 3, at distances 3, 3 and 6: 9/6 / (1/3 + 1/3 + 1/6) = 1.8."""
    sent = Belief(torch.tensor([[0.0], [0.0], [9.0]]), torch.zeros(3, 1))
    rule = RULES["geometric_median"](steps=1)
    found = step(rule, Receivers(sent, 0, 1), sent, torch.ones(3, 3) > 0).social.mean
    assert found.flatten().tolist() == pytest.approx([1.8] * 3)


def test_no_steps_is_the_mean() -> None:
    at, sent, edges = world(0)
    mean = step(RULES["fedavg"](), at, sent, edges).social.mean
    assert torch.allclose(step(RULES["geometric_median"](steps=0), at, sent, edges).social.mean, mean, atol=1e-6)


def test_of_a_triangle_with_a_wide_angle_it_is_that_corner() -> None:
    """Fermat's point: a corner of 120 degrees or more is nearest to all three."""
    corners = torch.tensor([[0.0, 0.1], [-1.0, 0.0], [1.0, 0.0]])
    sent = Belief(corners, torch.zeros(3, 2))
    rule = RULES["geometric_median"](nu=1e-6, steps=200)
    found = step(rule, Receivers(sent, 0, 1), sent, torch.ones(3, 3) > 0).social.mean
    assert torch.allclose(found, corners[:1].expand(3, 2), atol=1e-4)


def test_against_one_receiver_at_a_time() -> None:
    for seed in range(20):
        at, sent, edges = world(seed, density=0.5)
        sent.mean[2] *= 5
        edges[5] = False
        found = step(RULES["geometric_median"](), at, sent, edges).social
        for i in range(CLIENTS):
            heard = sent.mean[edges[i]].double()
            point = heard.mean(0) if len(heard) else at.social.mean[i].double()
            for _ in range(8 if len(heard) else 0):
                share = 1.0 / (heard - point).norm(dim=1).clamp_min(0.1)
                point = (share[:, None] * heard).sum(0) / share.sum()
            assert torch.allclose(found.mean[i].double(), point, atol=1e-6)


@pytest.mark.parametrize("bad", [{"nu": 0.0}, {"steps": -1}])
def test_a_bad_option_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        RULES["geometric_median"](**bad)
