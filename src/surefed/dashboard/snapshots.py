"""Snapshots of trust, read a few rows at a time where they are large."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from surefed.core import RecordError

Array = np.ndarray[Any, Any]

CHUNK = 1 << 24
"""Bytes of an array that are held at once when it is read row by row."""


def rounds(folder: Path) -> list[int]:
    """The rounds of which a run's folder has a snapshot."""
    try:
        names = [file.stem for file in (folder / "trust").iterdir() if file.suffix == ".npz"]
    except OSError:
        return []
    return sorted(int(name) for name in names if name.isdecimal())


def place(folder: Path, round: int) -> Path:
    """Where a snapshot is."""
    return folder / "trust" / f"{round:06d}.npz"


class Snapshot:
    """One open snapshot: shapes first, arrays only when asked for. Nothing in it is ever unpickled."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.names = {name.removesuffix(".npy") for name in archive.namelist()}

    def shape(self, name: str) -> tuple[int, ...]:
        """An array's shape, read from its header alone."""
        with self._archive.open(f"{name}.npy") as file:
            return _header(file)[0]

    def whole(self, name: str) -> Array:
        """A whole array."""
        with self._archive.open(f"{name}.npy") as file:
            shape, kind = _header(file)
            return np.frombuffer(file.read(), dtype=kind, count=int(np.prod(shape))).reshape(shape)

    def rows(self, name: str) -> Iterator[tuple[int, Array]]:
        """An array piece by piece: the first row's place, and some rows. [row, column]"""
        with self._archive.open(f"{name}.npy") as file:
            (count, width), kind = _header(file)
            step = max(1, CHUNK // max(1, width * kind.itemsize))
            for start in range(0, count, step):
                size = min(step, count - start)
                piece = file.read(size * width * kind.itemsize)
                yield start, np.frombuffer(piece, dtype=kind, count=size * width).reshape(size, width)

    def cell(self, name: str, row: int, column: int) -> float:
        """One value of an array, whatever comes before it left behind."""
        for start, some in self.rows(name):
            if row < start + len(some):
                return float(some[row - start, column])
        raise ValueError(f"{name} has no row {row}")


@contextmanager
def snapshot(folder: Path, round: int) -> Iterator[Snapshot]:
    """Open a snapshot; a damaged, half-written or missing one is a RecordError."""
    path = place(folder, round)
    try:
        with zipfile.ZipFile(path) as archive:
            yield Snapshot(archive)
    except FileNotFoundError:
        raise RecordError(f"there is no snapshot of round {round}") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise RecordError(f"the snapshot of round {round} is damaged: {error}") from error


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)  # type: ignore[no-untyped-call, unused-ignore]
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, kind = read(file)
    if kind.hasobject or (fortran and len(shape) > 1):
        raise ValueError("an array is not plain numbers in rows")
    return tuple(shape), kind
