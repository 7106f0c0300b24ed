from __future__ import annotations

import pytest
import torch

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import CLIENTS, step, world


def test_one_step_and_two_worked_by_hand() -> None:
    """From 0 towards 1 and 10, tau 2: (1 + 2) / 2 = 1.5; from there (-0.5 + 2) / 2 = 0.75 further."""
    own = Belief(torch.zeros(1, 1), torch.zeros(1, 1))
    sent = Belief(torch.tensor([[1.0], [10.0]]), torch.zeros(2, 1))
    for steps, value in ((1, 1.5), (2, 2.25)):
        rule = RULES["centered_clipping"](tau=2.0, steps=steps)
        assert step(rule, Receivers(own, 0, 1), sent, torch.ones(1, 2) > 0).social.mean.item() == pytest.approx(value)


def test_a_huge_radius_is_the_mean_however_often() -> None:
    at, sent, edges = world(0)
    mean = step(RULES["fedavg"](), at, sent, edges).social.mean
    found = step(RULES["centered_clipping"](tau=1e9, steps=3), at, sent, edges).social.mean
    assert torch.allclose(found, mean, atol=1e-6)


@pytest.mark.parametrize("steps", [1, 4])
def test_against_one_receiver_at_a_time(steps: int) -> None:
    for seed in range(20):
        at, sent, edges = world(seed, density=0.5)
        sent.mean[2] *= 5
        edges[5] = False
        assert at.previous is not None
        found = step(RULES["centered_clipping"](factor=0.8, steps=steps), at, sent, edges).social
        for i in range(CLIENTS):
            centre, heard = at.social.mean[i].double(), edges[i].nonzero().flatten().tolist()
            tau = 0.8 * (centre - at.previous.mean[i].double()).norm()
            for _ in range(steps):
                moves = [sent.mean[j].double() - centre for j in heard]
                clipped = [move * min(1.0, float(tau / move.norm().clamp_min(1e-300))) for move in moves]
                centre = centre + sum(clipped) / max(len(heard), 1)
            assert torch.allclose(found.mean[i].double(), centre, atol=1e-6)


def test_lies_of_1e20_move_it_by_the_radius_at_most() -> None:
    at, sent, edges = world(0, density=1.0)
    sent.mean[1:4] = 1e20
    found = step(RULES["centered_clipping"](tau=0.5, steps=3), at, sent, edges).social.mean
    assert ((found - at.social.mean).norm(dim=1) <= 1.5 + 1e-5).all()


@pytest.mark.parametrize("bad", [{"tau": 0.0}, {"steps": 0}, {"factor": 0.0}])
def test_a_bad_option_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        RULES["centered_clipping"](**bad)
