from __future__ import annotations

import pytest
import torch

from surefed.attacks import ATTACKS
from surefed.core import Belief, rho_of
from surefed.rules import RULES, Receivers

from .test_contract import EDGES, MALICIOUS, liars, scene

variance_bloat = ATTACKS["variance_bloat"]


def test_the_mean_is_honest_and_the_std_a_thousand_times_too_large() -> None:
    own = Belief(torch.full((6, 2), 3.0), rho_of(torch.full((6, 2), 0.1)))
    lie = variance_bloat().tamper(scene(own), liars())
    assert torch.equal(lie.mean, own.mean[MALICIOUS])
    assert lie.std.flatten().tolist() == pytest.approx([100.0] * 4, rel=1e-4)


def test_the_pool_keeps_its_mean_and_loses_the_liars_share_of_its_precision() -> None:
    """Four of six precisions are left, so the variance grows by 6 / 4."""
    rng = torch.Generator().manual_seed(0)
    learned = Belief(0.1 * torch.randn(6, 13, generator=rng), rho_of(torch.full((6, 13), 0.1)))
    lied = variance_bloat().send(learned, scene(learned), liars()).belief
    rule = RULES["bayp2pfl"]()
    pooled = rule.step(Receivers(learned, 3, 9), lied, EDGES, rule.init(6, 6, lied.weights)).social
    assert torch.allclose(pooled.mean[0], learned.mean[~MALICIOUS].mean(0), atol=1e-4)
    assert torch.allclose(pooled.std, torch.tensor(0.1 * 1.5**0.5), rtol=1e-3)


def test_the_claim_is_always_a_number(beliefs: Belief) -> None:
    for factor in (1e-300, 1e300):
        assert variance_bloat(factor=factor).tamper(scene(beliefs), liars()).finite().all()
    with pytest.raises(ValueError, match="positive"):
        variance_bloat(factor=-1.0)
