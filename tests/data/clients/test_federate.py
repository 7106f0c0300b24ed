from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from surefed.core import DataError
from surefed.data import Dataset, cut, deal, federate

BYTES = Dataset(
    inputs=np.arange(256, dtype=np.uint8).reshape(256, 1, 1),
    labels=np.arange(256) % 2,
    classes=2,
    owner=np.arange(256) // 64,
    owners=("ann", "bob", "cy", "dee"),
    background=1.0,
    mean=(0.25,),
    std=(0.5,),
)


def test_bytes_become_numbers_from_0_to_1_exactly() -> None:
    dealt = deal(BYTES, 3)
    made = federate(BYTES, dealt)
    chosen = np.concatenate(list(dealt.train.values()))
    assert made.inputs.dtype == torch.float32
    assert np.array_equal(made.inputs.numpy().ravel(), chosen.astype(np.float32) / np.float32(255))
    assert np.array_equal(made.test_inputs.numpy().ravel(), dealt.test.astype(np.float32) / np.float32(255))
    assert np.array_equal(made.labels.numpy(), chosen % 2)
    assert made.ids == tuple(dealt.train)
    assert made.sizes.tolist() == [len(part) for part in dealt.train.values()]
    assert (made.background, made.mean, made.std) == (1.0, (0.25,), (0.5,))


def test_inverting_turns_inputs_background_and_mean() -> None:
    dealt = deal(BYTES)
    plain, turned = federate(BYTES, dealt), federate(BYTES, dealt, invert=True)
    assert torch.allclose(turned.inputs, 1 - plain.inputs, atol=1e-7)
    assert (turned.background, turned.mean, turned.std) == (0.0, (0.75,), (0.5,))
    floats = replace(BYTES, inputs=(BYTES.inputs / 255).astype(np.float32))
    assert torch.allclose(federate(floats, dealt, invert=True).test_inputs, turned.test_inputs, atol=1e-7)
    with pytest.raises(DataError, match=r"only inputs in 0 .. 1 can be inverted"):
        federate(replace(BYTES, inputs=BYTES.inputs.astype(np.float32)), dealt, invert=True)


def test_only_bytes_are_scaled_and_the_dataset_stays_as_it_was() -> None:
    raw = replace(BYTES, inputs=BYTES.inputs.astype(np.float32), owner=None, owners=())
    before = raw.inputs.copy()
    made = cut(raw, 5)
    assert made.inputs.max() > 200
    made.inputs.zero_()
    assert np.array_equal(raw.inputs, before)
