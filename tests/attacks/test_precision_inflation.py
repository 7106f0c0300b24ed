from __future__ import annotations

import pytest
import torch

from surefed.attacks import ATTACKS
from surefed.core import STD_MIN, Belief, rho_of
from surefed.rules import RULES, Receivers

from .test_contract import EDGES, MALICIOUS, liars, scene

precision_inflation = ATTACKS["precision_inflation"]


def test_a_case_worked_by_hand() -> None:
    own = Belief(torch.full((6, 2), 3.0), rho_of(torch.full((6, 2), 0.1)))
    lie = precision_inflation(shift=-2.0).tamper(scene(own), liars())
    assert lie.mean.flatten().tolist() == pytest.approx([2.8] * 4)
    assert lie.std.flatten().tolist() == pytest.approx([1e-4] * 4, rel=1e-4)


def test_surefed_trusts_the_same_and_follows_the_liars() -> None:
    rng = torch.Generator().manual_seed(0)
    learned = Belief(0.1 * torch.randn(6, 13, generator=rng), rho_of(torch.full((6, 13), 0.1)))
    at = Receivers(learned, 3, 9, local=learned, local_learns=~MALICIOUS)
    rule = RULES["surefed"](heading="off", std_floor=0.0, std_ceiling=0.0)
    lied = precision_inflation().send(learned, scene(learned), liars()).belief
    before, after = (rule.step(at, sent, EDGES, rule.init(6, 6, sent.weights)) for sent in (learned, lied))
    assert after.inspection.trusted.all()
    assert torch.equal(before.inspection.trusted, after.inspection.trusted)
    assert torch.allclose(before.social.mean[0], learned.mean.mean(0), atol=1e-6)  # the plain mean of all six
    assert torch.allclose(after.social.mean[0], learned.mean[MALICIOUS].mean(0), atol=1e-5)  # that of the two liars


def test_the_claim_is_never_below_what_a_rule_can_read(beliefs: Belief) -> None:
    lie = precision_inflation(factor=1e-30).tamper(scene(beliefs), liars())
    assert lie.finite().all()
    assert lie.std.min().item() == pytest.approx(STD_MIN, rel=1e-3)
    with pytest.raises(ValueError, match="positive"):
        precision_inflation(factor=0.0)
