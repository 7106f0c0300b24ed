"""Malicious clients flip bits in the floating-point numbers they send."""

from __future__ import annotations

import torch

from surefed.attacks.base import Attack, Scene
from surefed.core import Belief, Stream

BITS = (22, 29, 30, 31)
"""Counted from 0: the top bit of the fraction, the two top bits of the exponent, the sign."""

MASK = sum(1 << bit for bit in BITS) - (1 << 32)
"""These bits as a 32-bit integer with a sign, which is negative because bit 31 is set."""


def ieee_bitflip(*, weights: int = 1000) -> Attack:
    """Flip bits 22, 29, 30 and 31 of the float32 of the first weights (Xie, Koyejo and Gupta 2018).

    Counted from 0, as in their later code: a 1.0 becomes -2.8e19. What is sent may be infinite or NaN: throwing
    that out is the receiver's part. Models with fewer than `weights` weights are flipped whole. The rho stays honest.
    """
    if weights < 1:
        raise ValueError(f"weights must be at least 1, and {weights} is not")

    def tamper(scene: Scene, rng: Stream) -> Belief:
        lie = scene.own.mean.to(torch.float32, copy=True)
        lie.view(torch.int32)[:, :weights].bitwise_xor_(MASK)
        return Belief(lie, scene.own.rho)

    return Attack(tamper=tamper, steady=True)
