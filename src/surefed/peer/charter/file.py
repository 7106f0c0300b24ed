"""A charter as a file that people can read, and as bytes that a neighbour sent; neither is believed unchecked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from surefed.core import IdentityError
from surefed.peer import canonical
from surefed.peer.charter.charter import Charter, named, plain
from surefed.peer.refused import Reason, Refused
from surefed.records import write_text

LIMIT = 2**20
"""Bytes of the longest charter that is read."""


def parse_charter(text: bytes) -> Charter:
    """The charter that bytes spell, checked in every way but one: founders may still have to sign it. Or Refused."""
    try:
        values = canonical.decode(text, LIMIT, floats=True, spaced=True)
        charter = Charter.model_validate(values, strict=False)  # strict would refuse lists; the next line is stricter
        if charter_bytes(charter) != canonical.encode(plain(values)):
            raise Refused(Reason.MALFORMED, "a key is missing, or a value is not written as it is read")
        charter.check_signatures()
    except ValidationError as error:
        raise Refused(Reason.MALFORMED, f"no charter: {_first(error)}") from None
    except (ValueError, RecursionError):
        raise Refused(Reason.MALFORMED, "no charter: a value has no canonical spelling") from None
    except IdentityError as error:
        raise Refused(Reason.CHARTER, str(error)) from None
    return charter


def charter_bytes(charter: Charter) -> bytes:
    """The charter in its one canonical spelling, as a neighbour is sent it."""
    return canonical.encode(plain(charter.model_dump()))


def load_charter(path: Path) -> Charter:
    """The charter in a file; founders may still have to sign it."""
    try:
        with path.open("rb") as file:
            text = file.read(LIMIT + 1)
    except FileNotFoundError:
        raise IdentityError(
            f"there is no charter {path}; copy the signed one here (a founder writes it with `surefed federation new`)"
        ) from None
    except OSError as error:
        raise IdentityError(f"cannot read the charter {path}: {error.strerror}") from error
    try:
        return parse_charter(text)
    except Refused as refused:
        raise IdentityError(f"{path} is not a charter that can be trusted: {refused.why}") from None


def read_charter(path: Path) -> Charter:
    """The charter in a file, signed by all its founders."""
    charter = load_charter(path)
    charter.check()
    return charter


def write_charter(path: Path, charter: Charter) -> None:
    """Write a charter for people to read, in place of an older one."""
    write_text(path, json.dumps(plain(charter.model_dump()), indent=1, allow_nan=False) + "\n")


class CharterFile:
    """A charter file that may change while a peer runs: an amendment comes into force when the file is replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = self._stamp()
        self.charter = read_charter(path)

    def poll(self) -> Charter | None:
        """The amended charter if the file has changed for the better since the last call, else None.

        A file that is damaged or that does not continue the charter in force is an IdentityError, once; the charter in
        force stays. One with fewer amendments changes nothing, so that no old file undoes a revocation.
        """
        stamp = self._stamp()
        if stamp == self._seen:
            return None
        self._seen = stamp
        return self.extend(read_charter(self.path))

    def extend(self, other: Charter) -> Charter | None:
        """Take over the amendments of another copy of the charter, such as a neighbour's; None if it has none more."""
        longer = extended(self.charter, other)
        if longer.amendment == self.charter.amendment:
            return None
        self.charter = longer
        return longer

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            at = self.path.stat()
        except OSError:
            return None
        return (at.st_mtime_ns, at.st_size, at.st_ino)


def extended(ours: Charter, theirs: Charter) -> Charter:
    """Our charter with the amendments of whichever copy has more in force; contradictions are an error."""
    if ours.digest != theirs.digest:
        raise IdentityError(
            f"{theirs.name!r} is another charter than {ours.name!r}; `surefed federation compare` says what differs"
        )
    both = min(ours.amendment, theirs.amendment)
    if ours.heads[both] != theirs.heads[both]:
        first = next(at for at in range(both + 1) if ours.heads[at] != theirs.heads[at])
        raise IdentityError(
            f"two amendments {first} of the charter of {ours.name!r} contradict each other: here "
            f"{ours.amendments[first - 1].said()!r}, there {theirs.amendments[first - 1].said()!r}; the members must "
            "agree on one"
        )
    if theirs.amendment <= ours.amendment:
        return ours
    return ours.changed(amendments=theirs.amendments[: theirs.amendment])


def _first(error: ValidationError) -> str:
    """The first problem, by key, without the value; a key may be anything that somebody wrote."""
    problem: Any = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(named(part) for part in problem['loc'])}: {problem['msg']}"
