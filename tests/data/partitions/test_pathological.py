from __future__ import annotations

import numpy as np
import pytest

from surefed.core import generator
from surefed.data.partitions import Pool
from surefed.data.partitions.pathological import pathological

LABELS = np.repeat(np.arange(10), 60)


@pytest.mark.parametrize(("clients", "classes"), [(5, 2), (7, 3), (20, 2), (3, 10), (10, 1)])
def test_everybody_has_exactly_so_many_classes_and_every_class_as_many_holders(clients: int, classes: int) -> None:
    parts = pathological(Pool(LABELS), clients, generator(0, "split"), classes=classes).values()
    held = np.array([np.bincount(LABELS[part], minlength=10) for part in parts])  # [client, class]
    assert ((held > 0).sum(1) == classes).all()
    holders = (held > 0).sum(0)
    assert holders.max() - holders.min() <= 1
    # 60 samples among h holders: 60 // h or one more each
    for count, column in zip(holders, held.T, strict=True):
        assert set(column[column > 0]) <= {60 // count, 60 // count + 1}


@pytest.mark.parametrize(
    ("clients", "classes", "message"),
    [
        (4, 2, "leave some of the 10 classes to nobody; use at least 5 clients"),
        (4, 0, "1 to 10 of the classes"),
        (4, 11, "1 to 10 of the classes"),
        (400, 2, "80 clients cannot share the 60 samples of class 0"),
    ],
)
def test_what_cannot_be_dealt(clients: int, classes: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pathological(Pool(LABELS), clients, generator(0, "split"), classes=classes)
