from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefed.peer.wire import (
    LIMIT,
    Reason,
    Refused,
    Request,
    charter_request,
    chunk_request,
    manifest_for,
    manifest_request,
    parse_request,
    read_request,
    write_manifest,
)
from surefed.peer.wire.request import PURPOSE
from surefed.peer.wire.signed import seal

from ..made import made


def chunk(number: int = 0) -> bytes:
    federation = made()
    manifest = manifest_for(federation.charter, federation.identities["north"], 4, bytes(144))
    return chunk_request(federation.charter, federation.identities["south"], manifest, number)


def altered(**changes: Any) -> bytes:
    """A request that south did sign, with other values."""
    return seal(replace(parse_request(chunk()), **changes), PURPOSE, made().identities["south"])


def read(message: bytes, owner: str = "north") -> Request:
    return read_request(message, made().charter, owner=owner)


def test_a_request_says_who_asks_whom_for_what() -> None:
    said = read(chunk())
    assert (said.kind, said.sender, said.owner, said.round, said.chunk) == ("chunk", "south", "north", 4, 0)
    assert said.sha256 == manifest_for(made().charter, made().identities["north"], 4, bytes(144)).sha256


def test_the_four_kinds() -> None:
    charter, south = made().charter, made().identities["south"]
    assert read(manifest_request(charter, south, "north")).kind == "newest"
    of_a_round = read(manifest_request(charter, south, "north", 9))
    assert (of_a_round.kind, of_a_round.round) == ("manifest", 9)
    assert read(charter_request(charter, south, "north")).kind == "charter"


def test_equal_requests_are_equal_bytes() -> None:
    assert chunk() == chunk()  # nothing in them is a time or used once


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"owner": "east"}, Reason.NOT_ALLOWED),
        ({"chunk": 1}, Reason.SHAPE),  # 144 bytes are one chunk of 1024
        ({"chunk": 2**62}, Reason.SHAPE),
        ({"round": 101}, Reason.SHAPE),
        ({"kind": "everything"}, Reason.MALFORMED),
        ({"kind": "x" * 17}, Reason.MALFORMED),
        ({"sender": "east"}, Reason.FORGED),
        ({"sender": "nobody"}, Reason.STRANGER),
        ({"charter": "a" * 64}, Reason.CHARTER),
        ({"chunk": -1}, Reason.MALFORMED),
    ],
)
def test_each_wrong_field_is_refused_for_its_reason(changes: dict[str, Any], why: Reason) -> None:
    with pytest.raises(Refused) as refused:
        read(altered(**changes))
    assert refused.value.reason is why


@given(st.binary(max_size=LIMIT + 10))
def test_random_bytes_are_refused(noise: bytes) -> None:
    with pytest.raises(Refused):
        read(noise)


@given(st.integers(0, len(chunk()) - 1), st.integers(0, 7))
def test_no_bit_can_be_changed(at: int, bit: int) -> None:
    whole = bytearray(chunk())
    whole[at] ^= 1 << bit
    with pytest.raises(Refused):
        read(bytes(whole))


def test_a_manifest_is_no_request() -> None:
    federation = made()
    north = federation.identities["north"]
    with pytest.raises(Refused) as refused:
        read(write_manifest(manifest_for(federation.charter, north, 4, b""), north))
    assert refused.value.reason is Reason.MALFORMED
