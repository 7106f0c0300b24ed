from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefed.peer import canonical
from surefed.peer.refused import Reason, Refused

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=4), PLAIN, max_size=4))
def test_what_is_encoded_is_read_back(values: dict[str, Any]) -> None:
    assert canonical.decode(canonical.encode(values), 10_000) == values


@given(st.binary(max_size=64) | st.text(alphabet='{}[]",:0123456789.eE+-\\u truefalsn', max_size=40).map(str.encode))
def test_whatever_is_read_has_only_one_spelling(body: bytes) -> None:
    for spaced in (False, True):
        try:
            values = canonical.decode(body, 64, floats=spaced, spaced=spaced)
        except Refused:
            continue
        assert spaced or canonical.encode(values) == body


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1}',  # a space
        b'{"b":1,"a":1}',  # keys out of order
        b'{"a":1,"a":1}',  # a key twice
        b'{"a":1,"a":2}',
        b'{"a":1.0}',
        b'{"a":1e3}',
        b'{"a":-0}',
        b'{"a":01}',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity}',
        b'{"a":' + b"9" * 21 + b"}",  # a number longer than any we write
        b'{"\xc3\xa9":1}',  # an e with an accent is written as an escape
        b'{"\\u0061":1}',  # and an a is not
        b'{"a":1}\n',
        b"\xef\xbb\xbf{}",
        b"[]",
        b"1",
        b"",
        b"\x00",
        b"{",
        b'{"a":' + b"[" * 17 + b"]" * 17 + b"}",
    ],
)
def test_any_other_spelling_is_refused(body: bytes) -> None:
    with pytest.raises(Refused) as refused:
        canonical.decode(body, 1000)
    assert refused.value.reason is Reason.MALFORMED


def test_nothing_longer_than_the_limit_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", None)  # calling it would be a TypeError
    with pytest.raises(Refused) as refused:
        canonical.decode(b"{" * 1001, 1000)
    assert refused.value.reason is Reason.OVERSIZE


def test_brackets_may_be_nested_to_a_depth() -> None:
    deep = b'{"a":' + b"[" * 15 + b"]" * 15 + b"}"  # sixteen brackets open at once
    assert canonical.encode(canonical.decode(deep, 1000)) == deep
    with pytest.raises(Refused, match="nested"):
        canonical.decode(b"[" * 100_000, 200_000)  # without the check this is a RecursionError


def test_files_may_be_spaced_but_hold_each_key_once() -> None:
    assert canonical.decode(b'{ "b": 1.5,\n "a": 2 }', 100, floats=True, spaced=True) == {"a": 2, "b": 1.5}
    for body in (b'{"a": 1, "a": 1}', b'{"a": NaN}', b'{"a": 1e999}'):
        with pytest.raises(Refused):
            canonical.decode(body, 100, floats=True, spaced=True)
