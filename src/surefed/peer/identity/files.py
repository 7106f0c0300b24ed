"""Files with private keys: made for the owner alone, never over an older one, and not read if others could."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from surefed.core import IdentityError, RecordError
from surefed.records.atomic import storage

LIMIT = 2**16
"""Bytes of the longest key, certificate or request that is read."""


def write_private(path: Path, content: bytes) -> None:
    """Make a file that only its owner may read (mode 0600), on the disk when this returns; never replaces one."""
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise RecordError(
                f"{path} exists, and a key is never overwritten; use `keys renew`, or move it away"
            ) from None
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            path.unlink()
            raise


def read_private(path: Path) -> bytes:
    """The content of a file that only its owner may read; one that others may read is refused."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise IdentityError(
            f"there is no key {path}; bring it back from a copy, or move what is left of the keys away, make new ones "
            "with `surefed keys new`, have them approved with --new-keys, and amend the charter"
        ) from None
    except OSError as error:
        raise IdentityError(f"cannot read the key {path}: {error.strerror}") from None
    with os.fdopen(handle, "rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise IdentityError(f"the key {path} is not a plain file")
        if os.name == "posix" and state.st_mode & 0o077:
            mode = stat.S_IMODE(state.st_mode)
            raise IdentityError(
                f"the key {path} may be read by others (mode {mode:04o}); if nobody did, `chmod 600 {path}`, else make "
                "new keys with `surefed keys renew --new-keys` and revoke the old ones"
            )
        return file.read(LIMIT)


def read_public(path: Path, what: str) -> bytes:
    """The content of a file that is no secret, up to a limit."""
    try:
        with path.open("rb") as file:
            content = file.read(LIMIT + 1)
    except FileNotFoundError:
        raise IdentityError(f"there is no {what} {path}") from None
    except OSError as error:
        raise IdentityError(f"cannot read the {what} {path}: {error.strerror}") from None
    if len(content) > LIMIT:
        raise IdentityError(f"{path} is longer than any {what}")
    return content
