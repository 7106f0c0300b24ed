"""What peers send each other: signed manifests and requests, and beliefs as plain float32."""

from surefed.peer.refused import Reason, Refused
from surefed.peer.wire.manifest import Manifest, manifest_for, parse_manifest, read_manifest, write_manifest
from surefed.peer.wire.payload import check, decode, encode
from surefed.peer.wire.request import (
    Request,
    charter_request,
    chunk_request,
    manifest_request,
    parse_request,
    read_request,
)
from surefed.peer.wire.signed import LIMIT, Signer, amended

__all__ = [
    "LIMIT",
    "Manifest",
    "Reason",
    "Refused",
    "Request",
    "Signer",
    "amended",
    "charter_request",
    "check",
    "chunk_request",
    "decode",
    "encode",
    "manifest_for",
    "manifest_request",
    "parse_manifest",
    "parse_request",
    "read_manifest",
    "read_request",
    "write_manifest",
]
