"""Somebody's own data: arrays by client become a dataset."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from surefed.core import ConfigError, DataError, SureFEDError
from surefed.core.registry import nearest
from surefed.data.base import Dataset, check_labels, check_numbers

Array = np.ndarray[Any, Any]
LAYOUT = (
    "(inputs, labels) or (train_inputs, train_labels, test_inputs, test_labels) for each client, by name; or a Dataset"
)


def own_dataset(
    given: Any, name: str, options: Mapping[str, Any], told: Mapping[str, Any], fields: Iterable[str] = ()
) -> Dataset:
    """A dataset from somebody's own function, or from what it would return.

    The function gets its options, and of what it is `told` (clients, seed) whatever it asks for. `fields` are other
    words that a misspelt option may stand for.
    """
    made = _call(given, name, options, told, fields) if callable(given) else given
    if isinstance(made, Dataset):
        return made
    if isinstance(made, Mapping):
        return by_client(made)
    if isinstance(made, Sequence) and not isinstance(made, str):
        return by_client({str(at): arrays for at, arrays in enumerate(made)})
    raise ConfigError(f"the dataset {name!r} gives a {type(made).__name__}, not a Dataset: it should give {LAYOUT}")


def by_client(clients: Mapping[str, Any], *, numbers: bool = False) -> Dataset:
    """A dataset from arrays by client: (inputs, labels), or those for training followed by those for testing.

    numbers: labels are not classes but numbers to be predicted, one or several a sample.
    """
    inputs: list[Array] = []
    labels: list[Array] = []
    owner, tested = [], []
    for at, (name, arrays) in enumerate(clients.items()):
        if not isinstance(arrays, (tuple, list)) or len(arrays) not in (2, 4):
            raise DataError(f"client {name}: expected {LAYOUT}")
        for part in range(0, len(arrays), 2):
            x, y = _arrays(arrays[part], arrays[part + 1], f"client {name}", numbers)
            if inputs and x.shape[1:] != inputs[0].shape[1:]:
                raise DataError(f"client {name} has inputs of shape {x.shape[1:]}, others of {inputs[0].shape[1:]}")
            if labels and y.shape[1:] != labels[0].shape[1:]:
                raise DataError(f"client {name} has labels of shape {y.shape[1:]}, others of {labels[0].shape[1:]}")
            inputs.append(x)
            labels.append(y)
            owner.append(np.full(len(y), at))
            tested.append(np.full(len(y), part == 2))
    if not inputs:
        raise DataError("there are no clients; give at least one")
    if len({x.dtype for x in inputs}) > 1:
        raise DataError("some clients' inputs are bytes (0 .. 255) and others' are not; make them alike")
    everything, test = np.concatenate(labels), np.concatenate(tested)
    return Dataset(
        inputs=np.concatenate(inputs),
        labels=everything,
        classes=0 if numbers else int(everything.max(initial=0)) + 1,
        owner=np.concatenate(owner),
        owners=tuple(str(name) for name in clients),
        test=test if test.any() else None,
    )


def _arrays(inputs: Any, labels: Any, whose: str, numbers: bool) -> tuple[Array, Array]:
    """Inputs as bytes or float32 and labels as they must be, or an error that names whose they are."""
    try:
        x, y = np.asarray(inputs), np.asarray(labels)
        x = x if x.dtype == np.uint8 else x.astype(np.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{whose}: inputs are not numbers of one shape ({error})") from error
    if x.ndim < 2 or y.ndim not in ((1, 2) if numbers else (1,)) or len(y) != len(x):
        raise DataError(
            f"{whose}: inputs need shape [sample, ...] and labels [sample], as many; not {x.shape} and {y.shape}"
        )
    if len(y) == 0:
        raise DataError(f"{whose} has no data; leave it out or give it samples")
    return x, check_numbers(y, whose) if numbers else check_labels(y, whose)


def _call(function: Any, name: str, options: Mapping[str, Any], told: Mapping[str, Any], fields: Iterable[str]) -> Any:
    try:
        asked = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the dataset {name!r} is not a function that can be called with options: {error}") from error
    takes_any = any(at.kind is inspect.Parameter.VAR_KEYWORD for at in asked.values())
    for option in options:
        if option not in asked and not takes_any:
            raise ConfigError(f"the dataset {name!r} has no option {option!r}; {nearest(option, {*asked, *fields})}")
    try:
        return function(**{key: value for key, value in told.items() if key in asked} | dict(options))
    except SureFEDError:
        raise
    except Exception as error:  # somebody's own code may fail in any way
        raise ConfigError(f"cannot build the dataset {name!r}: {type(error).__name__}: {error}") from error
