from __future__ import annotations

import torch

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import CLIENTS, step, world


def test_the_middle_value_or_the_mean_of_the_two_in_the_middle() -> None:
    sent = Belief(torch.tensor([[0.0], [1.0], [5.0], [1000.0]]), torch.tensor([[-3.0], [-1.0], [-2.0], [-2.0]]))
    edges = torch.tensor([[True] * 4, [True, True, False, True], [False, False, True, False], [False] * 4])
    outcome = step(RULES["median"](), Receivers(sent, 0, 1), sent, edges)
    assert outcome.social.mean.flatten().tolist() == [3.0, 1.0, 5.0, 1000.0]
    assert outcome.social.rho.flatten().tolist() == [-2.0, -2.0, -2.0, -2.0]


def test_against_one_receiver_at_a_time() -> None:
    for seed in range(20):
        at, sent, edges = world(seed, density=0.5)
        found = step(RULES["median"](), at, sent, edges).social
        for i in range(CLIENTS):
            plain = sent.mean[edges[i]].double().quantile(0.5, dim=0)
            assert torch.allclose(found.mean[i].double(), plain, atol=1e-6)
            assert torch.allclose(found.rho[i], sent.rho[edges[i]].mean(0), atol=1e-5)


def test_fewer_than_half_cannot_move_it_beyond_the_others() -> None:
    at, sent, edges = world(1, density=1.0)
    honest = sent.mean[:4].clone()
    sent.mean[4:] = 1e30
    found = step(RULES["median"](), at, sent, edges).social.mean
    assert ((found <= honest.amax(0)) & (found >= honest.amin(0))).all()
