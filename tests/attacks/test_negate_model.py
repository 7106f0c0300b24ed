from __future__ import annotations

import torch

from surefed.attacks import ATTACKS
from surefed.core import Belief

from .test_contract import MALICIOUS, liars, scene


def test_every_weight_changes_its_sign_and_the_rho_stays(beliefs: Belief) -> None:
    beliefs.mean[1, :3] = torch.tensor([1.5, -2.0, 0.0])
    sent = ATTACKS["negate_model"]().send(beliefs, scene(beliefs), liars()).belief
    assert sent.mean[1, :3].tolist() == [-1.5, 2.0, 0.0]
    assert torch.equal(sent.mean[MALICIOUS], -beliefs.mean[MALICIOUS])
    assert torch.equal(sent.rho, beliefs.rho)


def test_twice_is_the_truth(beliefs: Belief) -> None:
    attack = ATTACKS["negate_model"]()
    once = attack.send(beliefs, scene(beliefs), liars()).belief
    assert torch.equal(attack.send(once, scene(once), liars()).belief.mean, beliefs.mean)
