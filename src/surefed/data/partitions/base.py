"""What a partition is given and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Indices = np.ndarray[Any, np.dtype[np.int64]]

Parts = dict[str, Indices]
"""Each client's samples by its name. int64 [sample] each"""


@dataclass(frozen=True, slots=True)
class Pool:
    """The samples that are dealt out.

    labels: int64 [sample]. owner: whose each is, an index into `owners`, None where nobody knows. int64 [sample]
    """

    labels: Indices
    owner: Indices | None = None
    owners: tuple[str, ...] = ()


def numbered(parts: Sequence[Indices], min_samples: int) -> Parts:
    """The same parts under the names "0", "1", ..., each of at least `min_samples` samples."""
    sizes = [len(part) for part in parts]
    least = int(np.argmin(sizes))
    if sizes[least] < min_samples:
        raise ValueError(
            f"client {least} would get {sizes[least]} samples, fewer than min_samples = {min_samples}; use fewer "
            "clients or lower min_samples"
        )
    return {str(at): part for at, part in enumerate(parts)}
