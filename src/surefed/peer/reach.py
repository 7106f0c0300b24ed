"""Whether a neighbour can be reached: a connection, a TLS handshake with both certificates, the right name and key."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress

from cryptography import x509

from surefed.peer.charter import Charter
from surefed.peer.identity import Identity, fingerprint
from surefed.peer.identity.certificate import facts

PATIENCE = 5.0
"""Seconds for a connection, and for a handshake."""


class Unreachable(Exception):
    """Why a neighbour cannot be reached, and what may help."""

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(why)
        self.why, self.fix = why, fix


def reach(site: str, address: str, identity: Identity, charter: Charter) -> str:
    """Shake hands with a neighbour and look at its certificate; what there is to say about it, or Unreachable."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        with socket.create_connection((host, int(port)), PATIENCE) as link:
            theirs = _handshake(link, host, identity)
    except ssl.SSLCertVerificationError as error:
        fix = f"does its certificate name {host}, is it of this federation's authority, are both clocks right?"
        raise Unreachable(f"its certificate is refused: {error.verify_message}", fix) from None
    except (ssl.SSLError, ConnectionError) as error:
        if isinstance(error, ConnectionRefusedError):
            raise Unreachable("nobody listens there", "start it, or put its address right") from None
        fix = "it may refuse our certificate: has it this federation's authority, and is its clock right?"
        raise Unreachable(f"the handshake fails ({_words(error)})", fix) from None
    except socket.gaierror:
        raise Unreachable(f"the name {host} is not known here", "put network.addresses or the DNS right") from None
    except OSError as error:
        raise Unreachable(_words(error), "is the machine up, and do both firewalls let this port through?") from None
    return _known(site, theirs, charter)


def _handshake(link: socket.socket, host: str, identity: Identity) -> x509.Certificate:
    places = identity.places
    context = ssl.create_default_context(cafile=str(places.authority))
    context.load_cert_chain(places.certificate, places.tls)
    context.set_alpn_protocols(["h2"])
    with context.wrap_socket(link, server_hostname=host) as channel:
        given = channel.getpeercert(binary_form=True)
        assert given is not None
        channel.settimeout(0.3)
        with suppress(TimeoutError):
            channel.recv(1)  # under TLS 1.3 the other side's refusal comes after the handshake
    return x509.load_der_x509_certificate(given)


def _known(site: str, theirs: x509.Certificate, charter: Charter) -> str:
    said, standing = facts(theirs), charter.members[site]
    if said.site != site:
        raise Unreachable(f"{said.site} answers there", "put network.addresses right")
    if fingerprint(theirs) not in standing.certificates:
        raise Unreachable(
            "it shows a certificate that the charter does not know", "amend the charter, or copy the newer one"
        )
    return f"shows the certificate the charter knows, good until {said.expires:%Y-%m-%d}"


def _words(error: OSError) -> str:
    return str(error.strerror or error).partition(" (_ssl")[0] or type(error).__name__
