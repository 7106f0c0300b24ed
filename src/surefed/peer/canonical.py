"""Exactly one spelling of every value: JSON with sorted keys, no spaces, ASCII, no NaN, no key twice."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from surefed.peer.refused import Reason, Refused

DEPTH = 16
"""Brackets may be nested no deeper than this, in anything that is read."""

DIGITS = 20
"""No number is longer than this many digits; 2**63 has 19."""

_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def encode(values: Any) -> bytes:
    """The one spelling of plain values."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")


def decode(body: bytes, limit: int, *, floats: bool = False, spaced: bool = False) -> dict[str, Any]:
    """The object that a body spells, or Refused; it is not parsed if it is longer than `limit` bytes.

    floats: whether numbers may be fractions. spaced: whether spaces and the order of keys are free, as in a file that
    people read; otherwise any spelling but the canonical one is refused.
    """
    if len(body) > limit:
        raise Refused(Reason.OVERSIZE, f"{len(body)} bytes, where {limit} are the most there can be")
    _check_depth(body)
    try:
        values = json.loads(
            body.decode("utf-8" if spaced else "ascii"),
            object_pairs_hook=_once,
            parse_int=_whole,
            parse_float=_fraction if floats else _no_fraction,
            parse_constant=_no_constant,
        )
        same = spaced or encode(values) == body
    except (ValueError, RecursionError):  # json's own messages quote what was sent
        raise Refused(Reason.MALFORMED, "it is not JSON of the kind that is expected") from None
    if not isinstance(values, dict):
        raise Refused(Reason.MALFORMED, "it is not an object")
    if not same:
        raise Refused(Reason.MALFORMED, "it is not in the canonical spelling")
    return values


def _check_depth(body: bytes) -> None:
    """Refuse deep nesting before the parser meets it; brackets inside of text count as well."""
    depth = 0
    for byte in body.translate(None, _NO_BRACKETS):
        depth += 1 if byte in b"[{" else -1
        if depth > DEPTH:
            raise Refused(Reason.MALFORMED, f"brackets are nested more than {DEPTH} deep")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key stands there twice")
    return values


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError("a number is too long")
    return int(digits)


def _fraction(digits: str) -> float:
    value = float(digits)
    if value - value != 0:
        raise ValueError("a number is infinite")
    return value


def _no_fraction(digits: str) -> NoReturn:
    raise ValueError("a fraction where whole numbers belong")


def _no_constant(name: str) -> NoReturn:
    raise ValueError("NaN and infinities are no JSON")
