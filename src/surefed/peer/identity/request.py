"""A request for membership: a TLS signing request and an Ed25519 public key, each signed by its own private key.

Whoever holds the file can be sure that its maker holds both private keys; nothing in it is secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from pydantic import ValidationError

from surefed.core import ConfigError, IdentityError
from surefed.peer import canonical
from surefed.peer.identity.certificate import alternative_names, hosts_of, p256
from surefed.peer.identity.files import LIMIT, read_public
from surefed.peer.identity.names import Hex32, Hex64, Site, Stated, checked_hosts, is_site
from surefed.peer.identity.signing import public_hex, sign, signed_by
from surefed.peer.refused import Refused

PURPOSE = b"surefed keys 1"


class _File(Stated):
    """A request as it is written."""

    csr: str
    signature: Hex64
    signing: Hex32
    site: Site


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """A request whose two signatures hold."""

    site: str
    signing: str
    hosts: tuple[str, ...]
    csr: x509.CertificateSigningRequest


def write_request(site: str, hosts: tuple[str, ...], tls: EllipticCurvePrivateKey, signing: Ed25519PrivateKey) -> bytes:
    """The request of a site for its two public keys and the hosts that others dial."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, site)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(name)
    csr = builder.add_extension(alternative_names(hosts), critical=False).sign(tls, SHA256())
    text = csr.public_bytes(Encoding.PEM).decode("ascii")
    signature = sign(signing, PURPOSE, f"{site}\n{text}".encode()).hex()
    return canonical.encode({"csr": text, "signature": signature, "signing": public_hex(signing), "site": site}) + b"\n"


def read_request(path: Path) -> KeyRequest:
    """The request in a file, or an IdentityError."""
    return parse_request(read_public(path, "request"), str(path))


def parse_request(content: bytes, where: str = "the request") -> KeyRequest:
    """A request, checked: well formed, signed by both keys it names, for a site's name and P-256."""
    try:
        file = _File.model_validate(canonical.decode(content.removesuffix(b"\n"), LIMIT))
        csr = x509.load_pem_x509_csr(file.csr.encode("ascii", "replace"))
        names = csr.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        hosts, key, holds = hosts_of(csr), p256(csr.public_key()), csr.is_signature_valid
    except (Refused, ValidationError):
        raise IdentityError(f"{where} is not a request made by `surefed keys new`") from None
    except Exception:  # whatever a parser of certificates may raise for bytes from a stranger
        raise IdentityError(f"{where} holds a signing request that cannot be read") from None
    if len(names) != 1 or names[0].value != file.site or not is_site(file.site):
        raise IdentityError(f"{where} is for {file.site}, but its signing request is for another name")
    if key is None:
        raise IdentityError(f"{where} brings a TLS key that is not EC P-256")
    said = f"{file.site}\n{file.csr}".encode("ascii", "replace")
    if not holds or not signed_by((file.signing,), PURPOSE, said, file.signature):
        raise IdentityError(f"{where} is not signed by the keys it brings; ask {file.site} to send it again")
    try:
        return KeyRequest(file.site, file.signing, checked_hosts(hosts), csr)
    except ConfigError as error:
        raise IdentityError(f"{where} cannot be approved: {error}") from None
