"""What every reader does with what it has read: check it, and say what is wrong with which file."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from surefed.core import DataError

Array = np.ndarray[Any, Any]


def optional(module: str, why: str, install: str) -> Any:
    """A library that not everybody has, or an error that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise DataError(f"{why} needs {module}, which is not installed; pip install {install}") from error


@contextmanager
def decoding(path: Path, what: str, fix: str = "bring it again") -> Iterator[None]:
    """Turn whatever a decoder says of a damaged file into an error that names the file."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # decoders of strangers' bytes fail in any way
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DataError(f"{path} is missing, truncated or {what} ({reason}); {fix}") from error


def whole_labels(labels: Array, where: object, classes: int | None = None) -> Array:
    """Labels as int64, after a check that they are whole numbers from 0 on, and below `classes` if that is known."""
    if labels.ndim != 1:
        raise DataError(f"{where}: labels must be one number a sample, not an array of shape {labels.shape}")
    if len(labels) == 0:
        raise DataError(f"{where}: there are no samples in it; bring a file that has some")
    if labels.dtype.kind not in "iufb" or not (np.abs(labels.astype(float)) < 2**62).all() or (labels % 1 != 0).any():
        raise DataError(f"{where}: labels must be whole numbers 0, 1, 2, ...; number the classes first")
    whole = labels.astype(np.int64)
    wrong = np.flatnonzero((whole < 0) | (whole >= (np.inf if classes is None else classes)))
    if len(wrong):
        right = "start at 0" if classes is None else f"lie in 0 .. {classes - 1}"
        raise DataError(
            f"{where}: sample {wrong[0]} has label {whole[wrong[0]]}, and labels must {right}; is it the right file?"
        )
    return whole


def count_classes(labels: Array, where: object) -> int:
    """How many classes the labels name: as many as they reach, each with a sample."""
    count = int(labels.max()) + 1
    missing = np.setdiff1d(np.arange(min(count, 2 * len(labels) + 1)), labels)
    if len(missing):
        raise DataError(
            f"{where}: labels reach {count - 1}, but no sample has label {missing[0]}; number the classes without gaps"
        )
    return count


def named_owners(names: Sequence[str] | Array) -> tuple[Array, tuple[str, ...]]:
    """Whose each sample is, as an index into the sorted names; numbers sort as numbers."""
    known, owner = np.unique(np.asarray(names), return_inverse=True)
    return owner.astype(np.int64), tuple(str(name) for name in known)


def float32(numbers: Array, where: object) -> Array:
    """Numbers as float32, if they fit."""
    with np.errstate(over="ignore"):
        narrow = numbers.astype(np.float32)
    if not np.isfinite(narrow).all():
        raise DataError(f"{where}: inputs hold NaN, infinity or numbers beyond 3e38; clean or scale them first")
    return narrow


def compact(pixels: Array, where: object) -> Array:
    """Numbers that are whole 255ths of 0 .. 1 as the bytes they came from, exactly; others as float32."""
    narrow = float32(pixels, where)
    if narrow.size and narrow.min() >= 0 and narrow.max() <= 1:
        whole = np.rint(narrow * 255)
        if np.abs(narrow * 255 - whole).max() < 1e-3:
            return np.asarray(whole, dtype=np.uint8)
    return narrow


def stacked(parts: Sequence[Array]) -> Array:
    """Parts that `compact` made, one after another; bytes become 0 .. 1 again where other parts are no bytes."""
    if all(part.dtype == np.uint8 for part in parts):
        return np.concatenate(parts)
    return np.concatenate([part / np.float32(255) if part.dtype == np.uint8 else part for part in parts])


def place_of(path: str | None, what: str) -> Path:
    """The path that a user gave as an option; one is needed."""
    if path is None:
        raise ValueError(f"set data.path to {what}")
    return Path(path).expanduser()


def folder_of(path: Path, what: str) -> Path:
    """The folder, if it is one."""
    if not path.is_dir():
        raise DataError(f"there is no folder {path}; give the folder that holds {what}")
    return path
