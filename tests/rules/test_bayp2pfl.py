from __future__ import annotations

import pytest
import torch

from surefed.core import Belief, rho_of
from surefed.rules import RULES, Receivers

from .test_contract import step


def test_every_neighbour_is_pooled_by_precision_on_an_incomplete_graph() -> None:
    sent = Belief(torch.tensor([[0.0], [1.0], [4.0]]), rho_of(torch.tensor([[1.0], [0.5], [1.0]])))
    edges = torch.tensor([[True, True, False], [False, True, True], [False, False, True]])
    outcome = step(RULES["bayp2pfl"](), Receivers(sent, 0, 1), sent, edges)
    # precisions 1, 4, 1: (0 + 4) / 5; (4 + 4) / 5; alone
    assert outcome.social.mean.flatten().tolist() == pytest.approx([0.8, 1.6, 4.0])
    assert outcome.social.std.flatten().tolist() == pytest.approx([2.5**-0.5, 2.5**-0.5, 1.0])
