from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefed.peer import canonical
from surefed.peer.charter import propose
from surefed.peer.wire import (
    LIMIT,
    Manifest,
    Reason,
    Refused,
    amended,
    manifest_for,
    parse_manifest,
    read_manifest,
    write_manifest,
)
from surefed.peer.wire.manifest import PURPOSE
from surefed.peer.wire.request import PURPOSE as REQUESTS

from ..made import copied, made, signed, with_fifth

PAYLOAD = bytes(range(256))[: 8 * 18]  # linear: 5 inputs and a bias for each of 3 classes are 18 weights


def message(site: str = "north", round: int = 4, **changes: Any) -> bytes:
    federation = made()
    manifest = manifest_for(federation.charter, federation.identities[site], round, PAYLOAD)
    return write_manifest(replace(manifest, **changes), federation.identities[site])


def reason(given: bytes, sender: str | None = None) -> Reason:
    with pytest.raises(Refused) as refused:
        read_manifest(given, made().charter, sender=sender)
    return refused.value.reason


def test_a_manifest_says_all_that_identifies_a_belief() -> None:
    federation = made()
    charter, north = federation.charter, federation.identities["north"]
    assert charter.weights == 18
    assert read_manifest(message(), charter, sender="north") == Manifest(
        charter=charter.digest,
        amendment=0,
        head=charter.digest,
        sender="north",
        round=4,
        weights=18,
        dtype="<f4",
        size=144,
        chunk=1024,
        sha256=hashlib.sha256(PAYLOAD).hexdigest(),
        certificate=north.fingerprint,
    )


def test_a_manifest_is_a_signature_and_canonical_json_and_small() -> None:
    body = message()[64:]
    assert body == canonical.encode(json.loads(body))
    assert len(message()) < LIMIT / 2
    longest = message(round=2**63 - 1, weights=2**63 - 1, size=2**63 - 1, amendment=2**63 - 1, chunk=2**63 - 1)
    assert len(longest) + 40 < LIMIT  # and the longest name of a site


@given(st.integers(0, len(message()) - 1), st.integers(0, 7))
def test_no_bit_can_be_changed(at: int, bit: int) -> None:
    whole = bytearray(message())
    whole[at] ^= 1 << bit
    with pytest.raises(Refused):
        read_manifest(bytes(whole), made().charter)


@given(st.integers(0, LIMIT))
def test_no_part_of_a_manifest_is_one(length: int) -> None:
    whole = message()
    if length != len(whole):
        with pytest.raises(Refused):
            read_manifest((whole + bytes(LIMIT))[:length], made().charter)


@given(st.binary(max_size=LIMIT + 10))
def test_random_bytes_are_refused(noise: bytes) -> None:
    with pytest.raises(Refused):
        read_manifest(noise, made().charter)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2**70),
    st.floats(),
    st.text(max_size=70),
    st.lists(st.integers(), max_size=2),
    st.just("north"),
    st.just("f" * 64),
)


@given(st.dictionaries(st.sampled_from([field.name for field in fields(Manifest)] + ["more"]), VALUES, max_size=4))
def test_wrong_values_are_refused_even_if_a_member_signs_them(changes: dict[str, Any]) -> None:
    federation = made()
    values = json.loads(message()[64:]) | changes
    body = json.dumps(values, sort_keys=True, separators=(",", ":")).encode()
    whole = federation.identities["north"].sign(PURPOSE, body) + body
    if body == message()[64:]:
        return
    try:
        said = read_manifest(whole, federation.charter)
    except Refused:
        return
    # What may be said freely is the round, the hash and the amendments known.
    assert set(changes) & {"round", "sha256", "amendment", "head"}
    assert said.sender == "north"
    assert 0 <= said.round <= 100


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"weights": 19}, Reason.SHAPE),
        ({"size": 145}, Reason.SHAPE),
        ({"size": 2**62}, Reason.SHAPE),
        ({"chunk": 2048}, Reason.SHAPE),
        ({"chunk": 0}, Reason.SHAPE),
        ({"dtype": ">f4"}, Reason.SHAPE),
        ({"dtype": "<f8"}, Reason.SHAPE),
        ({"round": 101}, Reason.ROUND),
        ({"certificate": "0" * 64}, Reason.CERTIFICATE),
        ({"charter": "0" * 64}, Reason.CHARTER),
        ({"sender": "nobody"}, Reason.STRANGER),
        ({"sender": "south"}, Reason.FORGED),
        ({"sender": "North"}, Reason.MALFORMED),
        ({"sender": "ca"}, Reason.MALFORMED),
        ({"sender": "../x"}, Reason.MALFORMED),
        ({"round": -1}, Reason.MALFORMED),
        ({"round": True}, Reason.MALFORMED),
        ({"round": "4"}, Reason.MALFORMED),
        ({"sha256": "F" * 64}, Reason.MALFORMED),
        ({"sha256": "f" * 63}, Reason.MALFORMED),
        ({"dtype": "x" * 600}, Reason.OVERSIZE),
    ],
)
def test_each_wrong_field_is_refused_for_its_reason(changes: dict[str, Any], why: Reason) -> None:
    assert reason(message(**changes)) is why


def test_a_message_belongs_to_whom_it_came_from() -> None:
    assert reason(message("north"), sender="south") is Reason.FORGED


def test_nobody_else_can_sign() -> None:
    federation = made()
    body = message("north")[64:]
    forged = federation.identities["south"].sign(PURPOSE, body) + body
    assert reason(forged) is Reason.FORGED


def test_a_signature_for_another_purpose_is_worth_nothing() -> None:
    body = message("north")[64:]
    assert reason(made().identities["north"].sign(REQUESTS, body) + body) is Reason.FORGED


def test_oversize_is_refused_before_anything_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canonical, "decode", None)
    with pytest.raises(Refused) as refused:
        parse_manifest(bytes(LIMIT + 1))
    assert refused.value.reason is Reason.OVERSIZE


def test_an_unread_manifest_can_be_asked_for_its_chunks() -> None:
    assert parse_manifest(message()).chunks == 1
    assert parse_manifest(message(size=1025)).chunks == 2
    assert parse_manifest(message(chunk=0)).chunks == 0


def test_a_new_site_is_heard_by_whoever_knows_the_amendment(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    longer, centre = with_fifth(folder)
    ours = made().charter
    news = write_manifest(manifest_for(longer, centre, 4, PAYLOAD), centre)
    assert read_manifest(news, longer, sender="centre").amendment == 1
    with pytest.raises(Refused) as refused:
        read_manifest(news, ours)
    assert refused.value.reason is Reason.STRANGER
    assert "centre knows amendment 1, and we 0: copy the newer charter here" in refused.value.why
    # Old members hear each other whether or not either knows the amendment.
    north = made().identities["north"]
    ahead = read_manifest(write_manifest(manifest_for(longer, north, 4, PAYLOAD), north), ours)
    assert amended(ahead, ours) == "north knows amendment 1, and we 0: copy the newer charter here"
    behind = read_manifest(message(), longer)
    assert amended(behind, longer) == ""


def test_contradicting_amendments_do_not_silence_anybody(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    ours, _ = with_fifth(folder)
    theirs = signed(propose(made().charter, "revoke", "west"), "north", "south", "east")
    north = made().identities["north"]
    said = read_manifest(write_manifest(manifest_for(theirs, north, 4, PAYLOAD), north), ours)
    assert amended(said, ours) == "north has another amendment 1 than we; the members must agree on one"


def test_a_revoked_site_is_silent() -> None:
    charter = signed(propose(made().charter, "revoke", "north"), "south", "east", "west")
    with pytest.raises(Refused) as refused:
        read_manifest(message("north"), charter)
    assert refused.value.reason is Reason.REVOKED
    assert read_manifest(message("south"), charter).sender == "south"
