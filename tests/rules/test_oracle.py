from __future__ import annotations

import torch

from surefed.rules import RULES

from .test_contract import same, step, world


def test_it_is_bayp2pfl_among_the_honest() -> None:
    at, sent, edges = world(0)
    assert at.honest is not None
    outcome = step(RULES["oracle"](), at, sent, edges)
    assert torch.equal(outcome.inspection.trusted, edges & at.honest)
    same(outcome, step(RULES["bayp2pfl"](), at, sent, edges & at.honest))
