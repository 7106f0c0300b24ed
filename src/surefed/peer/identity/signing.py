"""Ed25519 signatures, each for one purpose: what was signed for one is worth nothing for another."""

from __future__ import annotations

from collections.abc import Iterable

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNATURE = 64
"""Bytes of a signature."""


def sign(key: Ed25519PrivateKey, purpose: bytes, message: bytes) -> bytes:
    """The signature of a message for a purpose. 64 bytes"""
    return key.sign(purpose + b"\0" + message)


def signed_by(keys: Iterable[str], purpose: bytes, message: bytes, signature: bytes | str) -> bool:
    """Whether one of these public keys, in hex, signed the message for this purpose."""
    given = bytes.fromhex(signature) if isinstance(signature, str) else signature
    whole = purpose + b"\0" + message
    return any(_holds(bytes.fromhex(key), whole, given) for key in keys)


def public_hex(key: Ed25519PrivateKey) -> str:
    """The public half, in hex."""
    return key.public_key().public_bytes_raw().hex()


def _holds(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
