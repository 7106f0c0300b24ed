from __future__ import annotations

import torch

from surefed.attacks import ATTACKS
from surefed.core import Belief

from .test_contract import MALICIOUS, liars, scene


def test_the_update_is_turned_round_and_the_rho_stays(beliefs: Belief) -> None:
    """Everyone moved by 0.1 from its start, so the liars claim to have moved by -0.1: 0.2 below what they learned."""
    sent = ATTACKS["sign_flip"]().send(beliefs, scene(beliefs), liars()).belief
    assert torch.allclose(sent.mean[MALICIOUS], beliefs.mean[MALICIOUS] - 0.2, atol=1e-6)
    assert torch.equal(sent.rho, beliefs.rho)


def test_the_truth_and_the_lie_meet_at_the_start(beliefs: Belief) -> None:
    told = scene(beliefs)
    sent = ATTACKS["sign_flip"]().send(beliefs, told, liars()).belief
    assert torch.allclose((sent.mean[MALICIOUS] + told.own.mean) / 2, told.start.mean, atol=1e-6)
