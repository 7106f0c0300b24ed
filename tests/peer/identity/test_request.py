from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from surefed.core import IdentityError
from surefed.peer import canonical
from surefed.peer.identity.request import parse_request, read_request, write_request

from ..made import made


def request(site: str = "north") -> bytes:
    return (made().folder / site / f"{site}.request").read_bytes()


def altered(**changes: Any) -> bytes:
    return canonical.encode(json.loads(request()) | changes) + b"\n"


def test_a_request_proves_that_both_keys_are_held() -> None:
    asked = parse_request(request())
    assert asked.site == "north"
    assert asked.signing == made().identities["north"].signing
    assert asked.hosts == ("localhost", "127.0.0.1")


def test_nobody_can_ask_for_anothers_name_or_with_anothers_key() -> None:
    south = json.loads(request("south"))
    for changes in (
        {"site": "south"},
        {"signing": south["signing"]},
        {"signing": south["signing"], "signature": south["signature"]},
        {"csr": south["csr"]},
        {"csr": south["csr"], "site": "south"},
    ):
        with pytest.raises(IdentityError):
            parse_request(altered(**changes))
    assert parse_request(altered()).site == "north"


def test_a_signing_request_that_was_altered_is_refused() -> None:
    lines = json.loads(request())["csr"].splitlines()
    middle = lines[2]
    lines[2] = middle[:10] + ("A" if middle[10] != "A" else "B") + middle[11:]
    with pytest.raises(IdentityError):
        parse_request(altered(csr="\n".join(lines) + "\n"))


@pytest.mark.parametrize("hosts", [(), ("x\x1b[2J",), ("a b",), ("*.example",), tuple(f"h{at}" for at in range(21))])
def test_hosts_that_a_site_would_not_be_given_are_refused(hosts: tuple[str, ...]) -> None:
    tls, signing = ec.generate_private_key(ec.SECP256R1()), Ed25519PrivateKey.generate()
    with pytest.raises(IdentityError) as error:
        parse_request(write_request("north", hosts, tls, signing))
    assert str(error.value).isprintable()


def test_a_tls_key_of_another_kind_is_refused() -> None:
    tls, signing = ec.generate_private_key(ec.SECP384R1()), Ed25519PrivateKey.generate()
    with pytest.raises(IdentityError, match="not EC P-256"):
        parse_request(write_request("north", ("localhost",), tls, signing))


@given(st.binary(max_size=300) | st.binary(max_size=300).map(lambda noise: altered(csr=noise.decode("latin-1"))))
def test_random_bytes_are_refused(noise: bytes) -> None:
    with pytest.raises(IdentityError):
        parse_request(noise)


@given(st.integers(0, 10**6), st.integers(0, 7))
def test_no_bit_can_be_changed(at: int, bit: int) -> None:
    whole = bytearray(request())
    whole[at % len(whole)] ^= 1 << bit
    with pytest.raises(IdentityError):
        parse_request(bytes(whole))


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "north.request"
    path.write_bytes(request() + bytes(70_000))
    with pytest.raises(IdentityError, match="longer than any request"):
        read_request(path)
