"""The arrays of a federation, made from a dataset with no more copies than needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from surefed.core import DataError
from surefed.data.base import Dataset, Federation
from surefed.data.clients.deal import Deal
from surefed.data.partitions.base import Indices


def federate(dataset: Dataset, dealt: Deal, *, invert: bool = False) -> Federation:
    """Everybody's samples as float32; bytes become numbers in 0 .. 1, and `invert` turns dark into light.

    Inverting turns the background and the usual mean as well.
    """
    parts = list(dealt.train.values())
    labels = dataset.labels.astype(np.int64 if dataset.classes else np.float32)
    if invert and dataset.inputs.dtype != np.uint8 and (dataset.inputs.min() < 0 or dataset.inputs.max() > 1):
        raise DataError("only inputs in 0 .. 1 can be inverted; scale them first")
    mean = dataset.mean
    return Federation(
        inputs=_gather(dataset.inputs, parts, invert),
        labels=torch.from_numpy(labels[np.concatenate(parts)]),
        sizes=torch.tensor([len(part) for part in parts]),
        ids=tuple(dealt.train),
        test_inputs=_gather(dataset.inputs, [dealt.test], invert),
        test_labels=torch.from_numpy(labels[dealt.test]),
        classes=dataset.classes,
        background=1 - dataset.background if invert else dataset.background,
        mean=tuple(1 - value for value in mean) if invert and mean is not None else mean,
        std=dataset.std,
    )


def _gather(inputs: np.ndarray[Any, Any], parts: Sequence[Indices], invert: bool) -> Tensor:
    """The chosen samples as float32, one part after another, with no other copy of more than a part."""
    gathered = np.empty((sum(map(len, parts)), *inputs.shape[1:]), dtype=np.float32)
    start, whole = 0, inputs.dtype.type(255 if inputs.dtype == np.uint8 else 1)
    for part in parts:
        mine = gathered[start : start + len(part)]
        mine[:] = whole - inputs[part] if invert else inputs[part]
        start += len(part)
    if inputs.dtype == np.uint8:
        gathered /= 255
    return torch.from_numpy(gathered)
