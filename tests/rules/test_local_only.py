from __future__ import annotations

import torch

from surefed.rules import RULES

from .test_contract import step, world


def test_nobody_is_heard() -> None:
    at, sent, edges = world(0)
    outcome = step(RULES["local_only"](), at, sent, edges)
    assert torch.equal(outcome.social.mean, at.social.mean)
    assert torch.equal(outcome.social.rho, at.social.rho)
    assert not outcome.inspection.trusted.any()
