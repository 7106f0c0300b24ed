"""Who a site is: private keys made on the site, certificates from the founder's authority, and the list of members."""

from surefed.peer.identity.authority import Authority, found, read_members
from surefed.peer.identity.certificate import SKEW, SOON, Facts, check_certificate, facts, fingerprint, read_certificate
from surefed.peer.identity.keys import Identity, Places, install, load_identity, new_keys, renew
from surefed.peer.identity.members import Member, Members, Standing
from surefed.peer.identity.names import checked_site, is_site
from surefed.peer.identity.request import KeyRequest, read_request

__all__ = [
    "SKEW",
    "SOON",
    "Authority",
    "Facts",
    "Identity",
    "KeyRequest",
    "Member",
    "Members",
    "Places",
    "Standing",
    "check_certificate",
    "checked_site",
    "facts",
    "fingerprint",
    "found",
    "install",
    "is_site",
    "load_identity",
    "new_keys",
    "read_certificate",
    "read_members",
    "read_request",
    "renew",
]
