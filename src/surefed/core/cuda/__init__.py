"""Kernels for CUDA, in Triton: what the torch path computes, with every array read and written about once.

Triton comes with torch's CUDA builds; where it is missing, or with SUREFED_NATIVE=0 in the environment, torch does all
the work, and what is computed is the same to rounding.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

from torch import Tensor

DENSE = 1 << 14
"""Pairs of clients up to which all are looked at, so that the host need not wait to learn which edges there are."""

SENDERS = 128
"""Senders up to which a trimmed mean ranks them against each other instead of sorting them, and that a record is judged
in one program of."""

_HERE = find_spec("triton") is not None and os.environ.get("SUREFED_NATIVE") != "0"


def here(value: Tensor) -> bool:
    """Whether there are kernels for the device that this is on."""
    return _HERE and value.is_cuda


def fits(*tensors: Tensor) -> bool:
    """Whether the kernels can work on these: float32 on a CUDA device, with Triton there."""
    return all(here(value) and value.dtype.itemsize == 4 and value.is_floating_point() for value in tensors)


__all__ = ["DENSE", "SENDERS", "fits", "here"]
