"""A dataset is arrays; a federation is a dataset cut into clients."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from surefed.core import DataError


@dataclass(frozen=True, slots=True)
class Dataset:
    """Labelled samples, as they were published.

    inputs: uint8 (0 .. 255, read as 0 .. 1) or float32 [sample, ...]; labels: int64 [sample], 0 .. classes-1.
    classes: how many there are; 0 where labels are numbers to be predicted, float32 [sample] or [sample, target].
    owner: whose sample each is, an index into `owners`; None where nobody knows. int64 [sample]
    owners: the names of the natural clients, such as writers.
    test: which samples the publisher set aside for testing; None where there is no such cut. bool [sample]
    background: the input value, in 0 .. 1, of an empty pixel: 0 for light strokes on dark, 1 for dark on light.
    mean, std: what the inputs, in 0 .. 1, are usually normalised by, one number per channel; None for not at all.
    """

    inputs: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]
    classes: int
    owner: np.ndarray[Any, np.dtype[np.int64]] | None = None
    owners: tuple[str, ...] = ()
    test: np.ndarray[Any, np.dtype[np.bool_]] | None = None
    background: float = 0.0
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Federation:
    """Everybody's data, one client after another, and a test set that nobody trains on.

    inputs: float32 [sample, ...]; labels: int64 [sample]; sizes: int64 [client], samples of each client in turn.
    classes: how many there are; 0 where labels are numbers, float32 [sample] or [sample, target].
    ids: the clients' names; randomness follows the name, not the position.
    background: the input value of an empty pixel. mean, std: what inputs may be normalised by, one number per channel.
    """

    inputs: Tensor
    labels: Tensor
    sizes: Tensor
    ids: tuple[str, ...]
    test_inputs: Tensor
    test_labels: Tensor
    classes: int
    background: float = 0.0
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return len(self.ids)

    @property
    def starts(self) -> Tensor:
        """Where each client's samples begin. int64 [client]"""
        return self.sizes.cumsum(0) - self.sizes

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return tuple(self.inputs.shape[1:])

    def rows_of(self, clients: Tensor) -> Tensor:
        """Which samples belong to the clients marked True. bool [sample]"""
        return clients.repeat_interleave(self.sizes)

    def reordered(self, order: Tensor) -> Federation:
        """The same federation with the training samples in another order; order: int64 [sample]."""
        return replace(self, inputs=self.inputs[order], labels=self.labels[order])

    def to(self, device: torch.device | str) -> Federation:
        """The same federation on another device."""
        moved = {name: getattr(self, name).to(device) for name in _ARRAYS}
        return replace(self, **moved)

    def fingerprint(self) -> str:
        """A digest of every sample, label and id: equal data, equal digest."""
        digest = hashlib.blake2b(repr((self.ids, self.classes)).encode(), digest_size=16)
        for name in _ARRAYS:
            array = getattr(self, name).cpu().contiguous().numpy()
            digest.update(f"{name}{array.dtype}{array.shape}".encode())
            digest.update(array.reshape(-1).view(np.uint8))
        return digest.hexdigest()


LARGEST = 1e12
"""Larger inputs overflow the squares of their gradients in float32."""

_ARRAYS = ("inputs", "labels", "sizes", "test_inputs", "test_labels")


def federation(
    clients: Sequence[tuple[Any, Any]],
    test: tuple[Any, Any],
    *,
    classes: int | None = None,
    ids: Sequence[str] | None = None,
) -> Federation:
    """A federation from arrays: one (inputs, labels) pair per client, and one for the test set.

    Anything numpy understands will do. Inputs are taken as they are; scale them as you would for your network.
    classes: how many; default: as many as the labels tell. 0 means that labels are numbers to be predicted.
    """
    if len(clients) == 0:
        raise DataError("a federation needs at least one client")
    names = tuple(str(at) for at in range(len(clients))) if ids is None else tuple(str(name) for name in ids)
    if len(names) != len(clients) or len(set(names)) != len(names):
        raise DataError(f"{len(clients)} clients need as many different ids, not {list(names)}")
    numbers = classes == 0
    pairs = [_pair(given, f"client {name}", numbers) for name, given in zip(names, clients, strict=True)]
    test_inputs, test_labels = _pair(test, "the test set", numbers)
    for name, (inputs, labels) in zip(names, pairs, strict=True):
        if len(labels) == 0:
            raise DataError(f"client {name} has no data; leave it out or give it samples")
        if inputs.shape[1:] != test_inputs.shape[1:]:
            raise DataError(f"client {name} has inputs of shape {inputs.shape[1:]}, the test {test_inputs.shape[1:]}")
    if len(test_labels) == 0:
        raise DataError("the test set is empty")
    if len({pair[1].shape[1:] for pair in (*pairs, (test_inputs, test_labels))}) > 1:
        raise DataError("clients and the test set must have labels with as many numbers in each")
    labels = np.concatenate([pair[1] for pair in pairs])
    count = 0 if numbers else _count(labels, test_labels, classes)
    return Federation(
        inputs=torch.from_numpy(np.ascontiguousarray(np.concatenate([pair[0] for pair in pairs]))),
        labels=torch.from_numpy(labels),
        sizes=torch.tensor([len(pair[1]) for pair in pairs]),
        ids=names,
        test_inputs=torch.from_numpy(test_inputs.copy(order="C")),
        test_labels=torch.from_numpy(test_labels),
        classes=count,
    )


def _count(labels: np.ndarray[Any, Any], test_labels: np.ndarray[Any, Any], classes: int | None) -> int:
    """How many classes there are, each with a sample to learn from."""
    highest = int(max(labels.max(), test_labels.max()))
    count = highest + 1 if classes is None else int(classes)
    if highest >= count or min(labels.min(), test_labels.min()) < 0:
        raise DataError(f"labels must lie in 0 .. {count - 1} for {count} classes; the data holds {highest}")
    missing = sorted(set(range(count)) - set(labels.tolist()))
    if missing:
        raise DataError(
            f"no client has a sample of class {', '.join(map(str, missing[:8]))}; nobody could learn it. "
            "Use more samples, or number the classes without gaps"
        )
    return count


def _pair(given: Any, whose: str, numbers: bool) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Inputs and labels as arrays of the right type, or an error that names whose they are."""
    try:
        inputs, labels = given
    except (TypeError, ValueError):
        raise DataError(f"{whose}: expected a pair (inputs, labels), not a {type(given).__name__}") from None
    try:
        x, y = np.asarray(inputs, dtype=np.float32), np.asarray(labels)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{whose}: inputs are not numbers of one shape ({error})") from error
    if x.ndim < 2:
        raise DataError(f"{whose}: inputs need shape [sample, ...], not {x.shape}")
    if y.ndim not in ((1, 2) if numbers else (1,)) or len(y) != len(x):
        raise DataError(f"{whose}: {len(x)} inputs need as many labels, not an array of shape {y.shape}")
    check_values(x, whose)
    return x, check_numbers(y, whose) if numbers else check_labels(y, whose)


def check_values(inputs: np.ndarray[Any, Any], whose: str) -> None:
    """Refuse inputs that nothing can be learned from; without a copy, because they may be large."""
    if inputs.size == 0:
        return
    with np.errstate(invalid="ignore"):
        reach = max(abs(float(inputs.min())), abs(float(inputs.max())))
    if not np.isfinite(reach):
        raise DataError(f"{whose}: inputs hold NaN or infinity; clean or impute them first")
    if reach > LARGEST:
        raise DataError(f"{whose}: inputs reach {reach:.3g}; scale them to numbers of order 1 first")


def check_numbers(y: np.ndarray[Any, Any], whose: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Labels to be predicted as numbers, one or several a sample, or an error that names whose they are."""
    if y.dtype.kind not in "iufb" or y.ndim not in (1, 2) or y[:1].size == 0:
        raise DataError(f"{whose}: labels must be numbers, one or several a sample, not {y.dtype} of shape {y.shape}")
    with np.errstate(over="ignore"):
        narrow: np.ndarray[Any, np.dtype[np.float32]] = y.astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(narrow.reshape(len(y), -1)).all(1))
    if len(wrong):
        raise DataError(f"{whose}: sample {wrong[0]} has the label {y[wrong[0]]}; put it right, or drop the sample")
    return narrow


def check_labels(y: np.ndarray[Any, Any], whose: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Labels as whole numbers, or an error that names whose they are."""
    if y.dtype.kind not in "iufb" and len(y):
        raise DataError(f"{whose}: labels must be whole numbers 0, 1, 2, ..., not {y.dtype}; number the classes first")
    if len(y) and not np.array_equal(y, y.astype(np.int64)):
        raise DataError(
            f"{whose}: labels must be whole numbers 0, 1, 2, ...; if they are numbers to be predicted, set "
            "data.numbers = true, or classes = 0 in Python"
        )
    return y.astype(np.int64)
