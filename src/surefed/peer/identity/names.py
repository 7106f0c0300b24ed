"""What a site may be called, and how keys and certificates are named in files: their SHA-256 or their bytes, in hex."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from surefed.core import ConfigError

SITE_PATTERN = r"[a-z0-9][a-z0-9_-]{0,39}"
RESERVED = frozenset({"ca", "relay"})
"""Names that files or programs of ours have."""

HOSTS = 20
"""Hosts that a certificate may name."""

_SITE = re.compile(SITE_PATTERN)
_HOST = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?")


def _free(site: str) -> str:
    if site in RESERVED:
        raise ValueError(f"{site!r} is a name of our own; choose another")
    return site


Site = Annotated[str, StringConstraints(pattern=f"^{SITE_PATTERN}$", strict=True), AfterValidator(_free)]
"""A site's name: it stands in certificates, file names and addresses, so it is short, lower case and plain."""

Hex32 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$", strict=True)]
"""32 bytes in hex: a digest, a fingerprint, an Ed25519 public key."""

Hex64 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$", strict=True)]
"""64 bytes in hex: an Ed25519 signature."""


class Stated(BaseModel):
    """Something written down and signed: frozen, of exact types, and without keys that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


def is_site(name: object) -> bool:
    """Whether a site may be called so."""
    return isinstance(name, str) and _SITE.fullmatch(name) is not None and name not in RESERVED


def checked_site(name: str) -> str:
    """The name, or an error that says what a site may be called."""
    if not is_site(name):
        raise ConfigError(
            f"{name!r} is no name for a site: use up to 40 of a-z, 0-9, - and _, beginning with a letter or digit"
            + (f", and not {name!r}, which is ours" if name in RESERVED else "")
        )
    return name


def checked_hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    """Hosts that a certificate may name, or an error."""
    if not hosts:
        raise ConfigError("say with --host under which names or addresses the others dial this site")
    if len(hosts) > HOSTS:
        raise ConfigError(f"a site is dialled under at most {HOSTS} names or addresses, not {len(hosts)}")
    for host in hosts:
        if _HOST.fullmatch(host) is None and not _is_address(host):
            raise ConfigError(f"{host!r} is neither a host name nor an address; leave out the port")
    return hosts


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
