from __future__ import annotations

import struct

import pytest
import torch

from surefed.attacks import ATTACKS
from surefed.core import Belief

from .test_contract import MALICIOUS, liars, scene

LIES = {0.0: -5.534023e19, 0.05: -6.341068e17, 1.0: -2.767012e19, 2.0: -1.626303e-19, 0.001: -2.745394e16}
"""Worked out by hand from the layout of a float32."""


def flip(number: float) -> float:
    """The slow plain way: through the four bytes of the number."""
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    for bit in (22, 29, 30, 31):
        bits ^= 1 << bit
    (flipped,) = struct.unpack("<f", struct.pack("<I", bits))
    assert isinstance(flipped, float)
    return flipped


def send(beliefs: Belief, **options: object) -> Belief:
    return ATTACKS["ieee_bitflip"](**options).send(beliefs, scene(beliefs), liars()).belief


def test_known_numbers(beliefs: Belief) -> None:
    beliefs.mean[1, : len(LIES)] = torch.tensor(list(LIES))
    assert send(beliefs).mean[1, : len(LIES)].tolist() == pytest.approx(list(LIES.values()), rel=1e-6, abs=0)


def test_it_is_the_plain_flip_of_the_bytes(beliefs: Belief) -> None:
    sent = send(beliefs)
    for client in MALICIOUS.nonzero().flatten().tolist():
        assert sent.mean[client].tolist() == [flip(number) for number in beliefs.mean[client].tolist()]
    assert torch.equal(sent.rho, beliefs.rho)


def test_only_the_first_weights_and_by_default_the_first_thousand() -> None:
    ones = Belief(torch.ones(6, 1200), torch.zeros(6, 1200))
    assert (send(ones).mean[MALICIOUS] != 1).sum(1).tolist() == [1000, 1000]
    few = send(ones, weights=3).mean[MALICIOUS]
    assert bool((few[:, :3] < -1e19).all())
    assert bool((few[:, 3:] == 1).all())
    with pytest.raises(ValueError, match="at least 1"):
        ATTACKS["ieee_bitflip"](weights=0)


def test_twice_is_the_truth_and_a_lie_may_be_no_number(beliefs: Belief) -> None:
    assert torch.equal(send(send(beliefs)).mean, beliefs.mean)
    beliefs.mean[1, 0] = 1.5 * 2.0**-64  # exponent 00111111, so all ones once its two top bits are flipped
    beliefs.mean[1, 1] = 1.25 * 2.0**-64
    sent = send(beliefs).mean[1]
    assert sent[0].item() == -torch.inf
    assert bool(sent[1].isnan())


def test_double_numbers_are_flipped_as_float32(beliefs: Belief) -> None:
    double = Belief(beliefs.mean.double(), beliefs.rho.double())
    assert torch.equal(send(double).mean, send(beliefs).mean.double())
