from __future__ import annotations

import numpy as np
import pytest

from surefed.core import generator
from surefed.data.partitions import Pool
from surefed.data.partitions.shards import shards

LABELS = np.repeat(np.arange(10), 60)


def test_shards_hold_few_classes() -> None:
    parts = shards(Pool(LABELS), 10, generator(0, "split"), per_client=2).values()
    assert max(len(np.unique(LABELS[part])) for part in parts) <= 4
    assert {len(part) for part in parts} == {60}
    with pytest.raises(ValueError, match="shards"):
        shards(Pool(LABELS), 400, generator(0, "split"), per_client=2)
