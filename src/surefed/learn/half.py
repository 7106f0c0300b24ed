"""Adam's memory in half the room: bfloat16, rounded up or down at random and right on average.

Rounded to the nearest, a second moment would never decay: it falls by a thousandth a step, and bfloat16 tells numbers
apart that differ by half a hundredth. Rounding at random keeps what is lost on average (Gupta et al. 2015).
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Moments = Literal["float32", "bfloat16"]

DITHER = 1 << 31
"""The draws of a round from here on are for rounding; weights and layers draw below."""


def keep(value: Tensor, into: Tensor, dither: Tensor) -> None:
    """Write float32 numbers into bfloat16 ones. dither: 16 random bits for each, int64

    A float32 is a bfloat16 and 16 bits more: the carry of these and the dither rounds up as often as it should.
    """
    bits = value.view(torch.int32) + dither.to(torch.int32)
    into.copy_(bits.bitwise_and_(-0x10000).view(torch.float32))
