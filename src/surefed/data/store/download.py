"""Downloads that go on where they stopped, from whichever mirror answers, and are checked before they are kept."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import shutil
import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from surefed.core import DataError, StorageError
from surefed.data.store.places import home, how_to_bring, source
from surefed.data.store.sources import File

Watch = Callable[[str, int, int | None], None]
"""Told the file's name, the bytes that are here, and how many there will be, if the server says."""

CHUNK = 1 << 18
TIMEOUT = 30.0
_NETWORK = (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError)


def get(name: str, watch: Watch = lambda name, done, total: None) -> Path:
    """Download a dataset into the cache, unless it is there, and give its folder."""
    folder = home() / name
    for file in source(name).files:
        kept = [folder / member for member in file.members] or [folder / file.name]
        if all(path.is_file() for path in kept):
            continue
        try:
            fetch(file, folder, watch)
        except DataError as error:
            raise DataError(f"{error}. {how_to_bring(name)}") from error
    return folder


def fetch(file: File, folder: Path, watch: Watch = lambda name, done, total: None) -> None:
    """One file from the first mirror that has it; a wrong digest is an error, and nothing of it is kept."""
    part = folder / f".{file.name}.part"
    with _storage(part):
        folder.mkdir(parents=True, exist_ok=True)
    failures = []
    for url in file.urls:
        for resumed in (part.exists(), False):
            try:
                _receive(url, part, file.name, watch)
            except _NETWORK as error:
                failures.append(f"{url}: {_reason(error)}")
                break
            found = _digest(part, file.zipped)
            if found == file.sha256:
                _keep(file, part, folder)
                return
            part.unlink()
            if not resumed:
                failures.append(f"{url}: its sha256 is {found}, not {file.sha256}; it is damaged or another file")
                break
    raise DataError(f"cannot download {file.name} ({'; '.join(failures)})")


def _receive(url: str, part: Path, name: str, watch: Watch) -> None:
    """Fill the part file up; as long as bytes keep coming, a broken connection is made anew."""
    while True:
        here = part.stat().st_size if part.exists() else 0
        try:
            _continue(url, part, here, name, watch)
            return
        except _NETWORK:
            if not part.exists() or part.stat().st_size <= here:
                raise


def _continue(url: str, part: Path, here: int, name: str, watch: Watch) -> None:
    """Ask for the bytes after the first `here`, or for all if the server knows no ranges."""
    request = urllib.request.Request(url, headers={"Range": f"bytes={here}-"} if here else {})  # noqa: S310
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT)  # noqa: S310 (the addresses are in sources.py)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not here:
            raise
        return  # there are no more bytes: the digest tells whether it is the file
    with answer:
        at = here if answer.status == http.HTTPStatus.PARTIAL_CONTENT else 0
        length = answer.headers.get("Content-Length")
        total = None if length is None else at + int(length)
        with _storage(part), part.open("r+b" if at else "wb") as file:
            file.seek(at)
            for chunk in _chunks(answer):
                file.write(chunk)
                at += len(chunk)
                watch(name, at, total)
        if total is not None and at < total:
            raise ConnectionError(f"the connection broke after {at} of {total} bytes")


def _chunks(answer: BinaryIO) -> Iterator[bytes]:
    """What the server sends, in pieces; a failure to receive is one of the network, not of the disk."""
    while True:
        try:
            chunk = answer.read(CHUNK)
        except OSError as error:
            raise http.client.HTTPException(str(error)) from error
        if not chunk:
            return
        yield chunk


def _digest(path: Path, zipped: bool) -> str:
    """The sha256 of a file, or of what is packed in it."""
    digest = hashlib.sha256()
    try:
        with gzip.open(path) if zipped else path.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return "that of a damaged archive"
    return digest.hexdigest()


def _keep(file: File, part: Path, folder: Path) -> None:
    """Give the file its name, or take out of the archive what is needed of it."""
    with _storage(folder):
        if not file.members:
            part.replace(folder / file.name)
            return
        with tarfile.open(part) as archive:
            for member in archive:
                name = Path(member.name).name
                content = archive.extractfile(member) if member.isfile() and name in file.members else None
                if content is not None:
                    fresh = folder / f".{name}.new"
                    with fresh.open("wb") as out:
                        shutil.copyfileobj(content, out, CHUNK)
                    fresh.replace(folder / name)
        part.unlink()


def _reason(error: Exception) -> str:
    """Why there was no answer, in a few words."""
    if isinstance(error, urllib.error.HTTPError):
        return f"the server says {error.code} {error.reason}"
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return f"no network, or the server does not answer ({reason})"


@contextmanager
def _storage(path: Path) -> Iterator[None]:
    try:
        yield
    except _NETWORK:
        raise
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}; make room or fix the permissions, then ask again: "
            "the download goes on where it stopped"
        ) from error
