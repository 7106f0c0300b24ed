"""A belief on the wire: the means, then the rhos, little-endian float32 or bfloat16, never compressed.

So the size follows from the charter before a byte is asked for, and there is nothing to unpack.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch

from surefed.core import Belief
from surefed.peer.refused import Reason, Refused

Numbers = Literal["float32", "bfloat16"]
DTYPES: dict[Numbers, str] = {"float32": "<f4", "bfloat16": "<bf2"}
"""How a manifest spells them; a bfloat16 is the first half of a float32."""

BLOCK = 1 << 20
"""Numbers checked at a time, which bounds the memory that checking takes."""

EXPONENT, MANTISSA = np.uint32(0x7F800000), np.uint32(0x007FFFFF)


def encode(belief: Belief, numbers: Numbers = "float32") -> bytes:
    """A belief of one row as bytes; subnormal numbers are sent as zero. mean, rho: float32 [weight]

    Numbers that are not finite are sent as they are, and refused by everybody.
    """
    if belief.mean.dim() != 1:
        raise ValueError(f"one belief is sent at a time, of shape [weight], not {tuple(belief.mean.shape)}")
    values = torch.cat([belief.mean, belief.rho]).detach().cpu().float().numpy().astype("<f4", copy=False)
    whole = values.view("<u4")
    for start in range(0, len(whole), BLOCK):
        bits = whole[start : start + BLOCK]
        bits[bits & EXPONENT == 0] = 0
    if numbers == "float32":
        return values.tobytes()
    return torch.from_numpy(values).bfloat16().view(torch.int16).numpy().astype("<i2", copy=False).tobytes()


def decode(payload: bytes, weights: int, numbers: Numbers = "float32") -> Belief:
    """The belief that a payload holds, or Refused: wrong size, a NaN, an infinity or a subnormal. float32 [weight]"""
    check(payload, weights, numbers)
    if numbers == "float32":
        values = np.frombuffer(payload, dtype="<f4").astype(np.float32)
    else:
        values = (np.frombuffer(payload, dtype="<u2").astype(np.uint32) << np.uint32(16)).view(np.float32)
    rows = torch.from_numpy(values).view(2, weights)
    return Belief(rows[0], rows[1])


def check(payload: bytes, weights: int, numbers: Numbers = "float32") -> None:
    """Refuse a payload that `decode` would refuse, without making a belief of it."""
    if len(payload) != (8 if numbers == "float32" else 4) * weights:
        raise Refused(Reason.SIZE, f"{len(payload)} bytes do not hold {weights} means and rhos as {numbers}")
    whole = np.frombuffer(payload, dtype="<u4" if numbers == "float32" else "<u2")
    for start in range(0, len(whole), BLOCK):
        bits = whole[start : start + BLOCK].astype(np.uint32)
        if numbers == "bfloat16":
            bits <<= np.uint32(16)
        exponent = bits & EXPONENT
        for bad, reason, words in (
            (exponent == EXPONENT, Reason.NOT_FINITE, "not finite"),
            ((exponent == 0) & (bits & MANTISSA != 0), Reason.SUBNORMAL, "subnormal"),
        ):
            if bad.any():
                at = start + int(bad.argmax())
                row = "mean" if at < weights else "rho"
                raise Refused(reason, f"the {row} of weight {at % weights} is {words}")
