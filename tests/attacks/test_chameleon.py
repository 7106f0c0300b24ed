from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from surefed.attacks import ATTACKS
from surefed.core import Belief

from .test_contract import EDGES, MALICIOUS, liars, scene

chameleon = ATTACKS["chameleon"]


def strikes(beliefs: Belief, round: int, trusted: torch.Tensor | None, edges: torch.Tensor = EDGES) -> bool:
    now = replace(scene(beliefs), round=round, trusted=trusted, edges=edges)
    lie = chameleon(patience=5).tamper(now, liars())
    return not torch.equal(lie.mean, now.own.mean)


def test_the_strike_is_the_reversed_update(beliefs: Belief) -> None:
    """Everybody learned +0.1 from where it started, so three times reversed is 0.4 below."""
    now = replace(scene(beliefs), round=20)
    lie = chameleon(strength=3.0).tamper(now, liars())
    assert torch.allclose(lie.mean, now.own.mean - 0.4, atol=1e-6)
    assert torch.equal(lie.rho, now.own.rho)


def test_honest_while_it_must_be_patient(beliefs: Belief) -> None:
    assert not strikes(beliefs, 4, EDGES)
    assert strikes(beliefs, 5, EDGES)


def test_it_waits_for_half_of_the_honest_receivers_links(beliefs: Belief) -> None:
    """There are eight: four honest receivers, two liars. What the liars think of themselves does not count."""
    few = MALICIOUS[:, None].expand(6, 6).clone()
    few[0, MALICIOUS] = True
    few[2, 1] = True
    assert not strikes(beliefs, 9, few)
    few[2, 4] = True
    assert strikes(beliefs, 9, few)


def test_whom_nobody_honest_hears_stays_honest(beliefs: Belief) -> None:
    assert not strikes(beliefs, 9, EDGES, edges=EDGES & ~MALICIOUS)


def test_who_cannot_know_strikes_when_patience_ends(beliefs: Belief) -> None:
    assert not strikes(beliefs, 4, None)
    assert strikes(beliefs, 5, None)


def test_a_share_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="share must"):
        chameleon(share=1.5)
