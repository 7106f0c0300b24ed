"""A belief on the wire: the means, then the rhos, little-endian float32, never compressed.

So the size follows from the charter before a byte is asked for, and there is nothing to unpack.
"""

from __future__ import annotations

import numpy as np
import torch

from surefed.core import Belief
from surefed.peer.refused import Reason, Refused

DTYPE = "<f4"
"""How a manifest spells little-endian float32."""

BLOCK = 1 << 20
"""Numbers checked at a time, which bounds the memory that checking takes."""

EXPONENT, MANTISSA = np.uint32(0x7F800000), np.uint32(0x007FFFFF)


def encode(belief: Belief) -> bytes:
    """A belief of one row as bytes; subnormal numbers are sent as zero. mean, rho: float32 [weight]

    Numbers that are not finite are sent as they are, and refused by everybody.
    """
    if belief.mean.dim() != 1:
        raise ValueError(f"one belief is sent at a time, of shape [weight], not {tuple(belief.mean.shape)}")
    numbers = torch.cat([belief.mean, belief.rho]).detach().cpu().float().numpy().astype(DTYPE, copy=False)
    whole = numbers.view("<u4")
    for start in range(0, len(whole), BLOCK):
        bits = whole[start : start + BLOCK]
        bits[bits & EXPONENT == 0] = 0
    return numbers.tobytes()


def decode(payload: bytes, weights: int) -> Belief:
    """The belief that a payload holds, or Refused: wrong size, a NaN, an infinity or a subnormal. float32 [weight]"""
    check(payload, weights)
    numbers = np.frombuffer(payload, dtype=DTYPE).astype(np.float32)
    rows = torch.from_numpy(numbers).view(2, weights)
    return Belief(rows[0], rows[1])


def check(payload: bytes, weights: int) -> None:
    """Refuse a payload that `decode` would refuse, without making a belief of it."""
    if len(payload) != 8 * weights:
        raise Refused(Reason.SIZE, f"{len(payload)} bytes do not hold {weights} means and rhos")
    whole = np.frombuffer(payload, dtype="<u4")
    for start in range(0, len(whole), BLOCK):
        bits = whole[start : start + BLOCK]
        exponent = bits & EXPONENT
        for bad, reason, words in (
            (exponent == EXPONENT, Reason.NOT_FINITE, "not finite"),
            ((exponent == 0) & (bits & MANTISSA != 0), Reason.SUBNORMAL, "subnormal"),
        ):
            if bad.any():
                at = start + int(bad.argmax())
                row = "mean" if at < weights else "rho"
                raise Refused(reason, f"the {row} of weight {at % weights} is {words}")
