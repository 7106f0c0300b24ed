from __future__ import annotations

import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefed.core import IdentityError
from surefed.peer import canonical
from surefed.peer.charter import Charter, charter_bytes, check_membership, parse_charter
from surefed.peer.identity import load_identity
from surefed.peer.refused import Reason, Refused

from ..made import SITES, copied, made, signed


def values() -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(charter_bytes(made().charter))
    return copy


def refused(given: bytes | dict[str, Any]) -> Refused:
    with pytest.raises(Refused) as error:
        parse_charter(given if isinstance(given, bytes) else json.dumps(given).encode())
    return error.value


def test_the_digest_covers_all_but_signatures_and_amendments() -> None:
    charter = made().charter
    agreed = {key: value for key, value in values().items() if key not in ("signatures", "amendments")}
    plain = json.dumps(agreed, sort_keys=True, separators=(",", ":"))
    assert charter.digest == hashlib.sha256(plain.encode()).hexdigest()
    assert charter.changed(signatures={}).digest == charter.digest
    for key, other in (
        ("seed", 8),
        ("rounds", 101),
        ("deadline", 2.0),
        ("staleness", 1),
        ("name", "x"),
        ("chunk", 2048),
    ):
        assert charter.changed(**{key: other}).digest != charter.digest, key


def test_a_charter_says_what_a_belief_weighs() -> None:
    charter = made().charter
    assert (charter.weights, charter.size, charter.chunks) == (18, 144, 1)  # (5 + 1) * 3 weights, mean and rho, 4 bytes
    assert charter.changed(weights=1000).chunks == 8  # 8000 bytes by 1024: 7.8
    assert charter.changed(weights=1024).chunks == 8
    assert charter.changed(weights=1025).chunks == 9


def test_the_order_of_the_members_is_kept() -> None:
    assert made().charter.sites == SITES
    assert [one.place for one in made().charter.members] == [0, 1, 2, 3]


def test_every_default_is_written_out() -> None:
    assert values()["learn"]["learning_rate"] == 0.001
    assert values()["learn"]["kind"] == "variational"
    assert values()["rule"]["std_floor"] == 1
    assert values()["approvals"] == 3  # more than half of four


def test_bytes_and_back() -> None:
    charter = made().charter
    again = parse_charter(charter_bytes(charter))
    assert again == charter
    assert charter_bytes(again) == charter_bytes(charter)
    assert canonical.decode(charter_bytes(charter), 10**6, floats=True)  # its one canonical spelling
    assert parse_charter(json.dumps(values(), indent=3).encode()).digest == charter.digest


def test_a_charter_is_not_in_force_before_every_founder_signed() -> None:
    unsigned = made().charter.changed(signatures={})
    with pytest.raises(IdentityError, match="not signed by north, south, east, west; each of them signs with"):
        unsigned.check()
    three = signed(unsigned, "north", "south", "west")
    assert three.unsigned == ["east"]
    with pytest.raises(IdentityError, match="not signed by east;"):
        three.check()
    signed(three, "east").check()


def test_any_change_voids_the_signatures() -> None:
    changed = values() | {"seed": 8}
    error = refused(changed)
    assert error.reason is Reason.CHARTER
    assert "it was altered, or signed with another key" in error.why


@pytest.mark.parametrize("key", sorted(Charter.model_fields))
def test_no_key_may_be_missing(key: str) -> None:
    rest = {name: value for name, value in values().items() if name != key}
    assert refused(rest).reason is Reason.MALFORMED


@pytest.mark.parametrize(
    "changes",
    [
        {"extra": 1},
        {"version": 2},
        {"version": True},
        {"rounds": "100"},
        {"rounds": 100.5},
        {"rounds": 0},
        {"rounds": True},
        {"weights": 2**31},
        {"approvals": 5},
        {"approvals": 0},
        {"chunk": 1},
        {"deadline": 0},
        {"seed": -1},
        {"shape": []},
        {"shape": [0]},
        {"name": "two\nlines"},
        {"name": ""},
        {"founders": []},
        {"authority": "A" * 64},
        {"model_digest": "zz"},
        {"learn": {"kind": "variational"}},
        {"signatures": {"north": "00"}},
        {"signatures": {"nobody": "0" * 128}},
        {"amendments": [{}]},
        {"amendments": "none"},
    ],
)
def test_what_is_no_charter(changes: dict[str, Any]) -> None:
    refused(values() | changes)


def test_founders_differ_in_name_key_and_certificate() -> None:
    for key in ("site", "signing", "certificate"):
        twice = values()
        twice["founders"][1][key] = twice["founders"][0][key]
        assert refused(twice).reason is Reason.MALFORMED


def test_a_strangers_key_is_told_short_and_plain() -> None:
    why = refused(values() | {"\x1b[2J" + "x" * 5000: 1}).why
    assert len(why) < 200
    assert why.isprintable()


def test_a_refusal_does_not_multiply_what_was_sent() -> None:
    lists = b"[" + b",".join([b"[]"] * 40_000) + b"]"  # some 3 MB of Python lists
    tracemalloc.start()
    try:
        refused(b'{"a":' + lists + b"}")
        refused(charter_bytes(made().charter).replace(b'"amendments":[]', b'"amendments":[{"a":' + lists + b"}]"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20e6


def test_nothing_too_long_is_parsed() -> None:
    assert refused(b" " * (2**20 + 1)).reason is Reason.OVERSIZE


def test_a_key_given_twice_is_refused() -> None:
    text = charter_bytes(made().charter).replace(b'"seed":7', b'"seed":7,"seed":7')
    assert refused(text).reason is Reason.MALFORMED


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(noise: bytes) -> None:
    refused(noise)


@given(st.integers(0, len(charter_bytes(made().charter)) - 1), st.integers(0, 7))
def test_no_bit_can_be_changed_without_notice(at: int, bit: int) -> None:
    whole = bytearray(charter_bytes(made().charter))
    whole[at] ^= 1 << bit
    refused(bytes(whole))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(Charter.model_fields)), JUNK)
def test_junk_in_any_key_is_refused_and_nothing_else_is_raised(key: str, junk: Any) -> None:
    try:
        accepted = parse_charter(json.dumps(values() | {key: junk}).encode())
    except Refused:
        return
    assert accepted == made().charter or (key, junk) == ("signatures", {})


def test_a_sites_keys_are_those_of_the_charter(tmp_path: Path) -> None:
    charter, north = made().charter, made().identities["north"]
    check_membership(north, charter)
    with pytest.raises(IdentityError, match="not the authority"):
        check_membership(north, charter.changed(authority="0" * 64))
    others = [founder for founder in charter.founders if founder.site != "north"]
    with pytest.raises(IdentityError, match="north is no member of 'four sites'; the members are south, east, west"):
        check_membership(north, charter.changed(founders=tuple(others), signatures={}))
    for kind, words in (("signing", "signing key"), ("certificate", "certificate")):
        swapped = charter.founders[0].model_copy(update={kind: "0" * 64})
        with pytest.raises(IdentityError, match=f"the {words} of north here .* is not one that the charter knows"):
            check_membership(north, charter.changed(founders=(swapped, *others), signatures={}))


def test_a_trial_federation_can_start(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    for site in SITES:
        charter = parse_charter((folder / site / "federation.charter").read_bytes())
        check_membership(load_identity(site, folder / site), charter)
