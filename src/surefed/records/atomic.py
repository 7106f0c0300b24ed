"""Files that are either the old one or the new one, never half of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from surefed.core import RecordError, StorageError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:
    fcntl = None


@contextmanager
def storage(path: Path) -> Iterator[None]:
    """Turn what the operating system says of a failed write into an answer."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}. Nothing that was saved is lost: make room or fix the "
            "path or its permissions; a run that was begun goes on with --resume"
        ) from error


def replace_file(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a new file beside `path`, flush it to the disk, then put it in the place of the old one."""
    fresh = path.with_name(f".{path.name}.new")
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(fresh)
            _flush(fresh, os.O_RDWR)
            fresh.replace(path)
            _flush(path.parent, os.O_RDONLY)
        finally:
            fresh.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Replace a file by this text."""
    replace_file(path, lambda fresh: _write(fresh, text.encode()))


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def append_line(path: Path, line: str) -> None:
    """Add a line at the end of a file and flush it to the disk; a reader must expect the last line to be torn."""
    with storage(path), path.open("ab") as file:
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _flush(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder: a second process that asks for it meanwhile gets an error. The lock ends with the process."""
    with storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:  # not on this operating system
        yield
        return
    with storage(folder):
        handle = os.open(folder / ".run.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RecordError(f"another process is running in {folder}; wait for it, or choose another --out") from None
        yield
    finally:
        os.close(handle)
