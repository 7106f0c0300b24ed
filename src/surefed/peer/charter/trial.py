"""A whole federation on one machine: authority, keys, approvals and signatures, for trials and tests.

In earnest each step happens where it belongs, with `surefed keys` and `surefed federation`; here one machine holds
every private key.
"""

from __future__ import annotations

from pathlib import Path

from surefed.peer.charter.charter import Charter
from surefed.peer.charter.draft import Draft
from surefed.peer.charter.file import write_charter
from surefed.peer.charter.signing import sign_charter
from surefed.peer.identity.authority import Authority, found
from surefed.peer.identity.certificate import fingerprint
from surefed.peer.identity.keys import Identity, install, load_signing, new_keys
from surefed.peer.identity.request import read_request

HERE = ("localhost", "127.0.0.1")


def trial_federation(folder: Path, draft: Draft, hosts: tuple[str, ...] = HERE) -> Charter:
    """Make everything a federation needs: folder/authority, folder/SITE for each site, and the signed charter.

    The charter is written to folder/federation.charter and, for each site, to folder/SITE/federation.charter.
    """
    authority = found(folder / "authority", draft.name)
    for site in draft.members:
        admit(authority, site, folder / site, hosts)
    charter = draft.charter(authority.members(), fingerprint(authority.certificate))
    for site in draft.members:
        charter = sign_charter(charter, site, [load_signing(folder / site / f"{site}.sign.key")])
    charter.check()
    for place in (folder, *(folder / site for site in draft.members)):
        write_charter(place / "federation.charter", charter)
    return charter


def admit(authority: Authority, site: str, folder: Path, hosts: tuple[str, ...] = HERE, days: int = 365) -> Identity:
    """Make a site's keys, have them approved, and install the certificate."""
    places = new_keys(site, hosts, folder)
    authority.approve(read_request(places.request), days)
    return install(site, authority.folder / f"{site}.pem", authority.folder / "ca.pem", folder)
