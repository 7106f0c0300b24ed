from __future__ import annotations

import pytest
import torch

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import step


def test_the_plain_average_of_whoever_is_heard() -> None:
    sent = Belief(torch.tensor([[0.0], [1.0], [5.0]]), torch.tensor([[-3.0], [-1.0], [-2.0]]))
    edges = torch.tensor([[True, True, True], [False, True, True], [False, False, True]])
    outcome = step(RULES["fedavg"](), Receivers(sent, 0, 1), sent, edges)
    assert outcome.social.mean.flatten().tolist() == pytest.approx([2.0, 3.0, 5.0])
    assert outcome.social.rho.flatten().tolist() == pytest.approx([-2.0, -1.5, -2.0])


def test_its_clients_are_trained_by_sgd() -> None:
    assert RULES["fedavg"]().learner == "point"
