from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import CLIENTS, step, world


def test_in_round_0_near_is_gamma_times_ones_own_length() -> None:
    """||x_i|| = 10 and gamma 0.3: 2.99 away is accepted, 3.01 is not; half own, half accepted."""
    own = Belief(torch.tensor([[6.0, 8.0]]), torch.tensor([[-1.0, -1.0]]))
    sent = Belief(torch.tensor([[8.99, 8.0], [6.0, 11.01]]), torch.tensor([[-2.0, -2.0], [-5.0, -5.0]]))
    outcome = step(RULES["balance"](), Receivers(own, 0, 10), sent, torch.ones(1, 2) > 0)
    assert outcome.inspection.trusted.tolist() == [[True, False]]
    assert outcome.social.mean.tolist() == [pytest.approx([7.495, 8.0])]
    assert outcome.social.rho.tolist() == [[-2.0, -2.0]]


def test_near_shrinks_with_the_rounds_and_nobody_accepted_is_oneself() -> None:
    own = Belief(torch.tensor([[6.0, 8.0]]), torch.tensor([[-1.0, -1.0]]))
    sent = Belief(torch.tensor([[8.0, 8.0]]), torch.tensor([[-2.0, -2.0]]))  # 2 away
    accepted = [
        bool(step(RULES["balance"](), Receivers(own, at, 10), sent, torch.ones(1, 1) > 0).inspection.trusted)
        for at in range(10)
    ]
    assert accepted == [at / 10 <= math.log(3 / 2) for at in range(10)]
    outcome = step(RULES["balance"](), Receivers(own, 9, 10), sent, torch.ones(1, 1) > 0)
    assert torch.equal(outcome.social.mean, own.mean)
    assert torch.equal(outcome.social.rho, own.rho)


def test_against_one_receiver_at_a_time() -> None:
    for seed in range(20):
        at, sent, edges = world(seed, density=0.5)
        at = replace(at, round=seed, rounds=20)
        edges[5] = False
        outcome = step(RULES["balance"](alpha=0.25), at, sent, edges)
        for i in range(CLIENTS):
            own = at.social.mean[i].double()
            near = 0.3 * math.exp(-seed / 20) * own.norm()
            fine = [j for j in range(CLIENTS) if edges[i, j] and (sent.mean[j].double() - own).norm() <= near]
            plain = 0.25 * own + 0.75 * sent.mean[fine].double().mean(0) if fine else own
            assert outcome.inspection.trusted[i].nonzero().flatten().tolist() == fine
            assert torch.allclose(outcome.social.mean[i].double(), plain, atol=1e-6)


@pytest.mark.parametrize("bad", [{"gamma": 0.0}, {"kappa": -1.0}, {"alpha": 1.5}])
def test_a_bad_option_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        RULES["balance"](**bad)
