"""The charter: what the members of a federation agreed on, signed, amended by signature only."""

from surefed.peer.charter.amendment import Amendment
from surefed.peer.charter.charter import Charter
from surefed.peer.charter.differences import differences
from surefed.peer.charter.draft import Draft, built, check_built
from surefed.peer.charter.file import (
    CharterFile,
    charter_bytes,
    extended,
    load_charter,
    parse_charter,
    read_charter,
    write_charter,
)
from surefed.peer.charter.membership import check_membership
from surefed.peer.charter.signing import merged, propose, sign_charter, withdraw
from surefed.peer.charter.trial import admit, trial_federation

__all__ = [
    "Amendment",
    "Charter",
    "CharterFile",
    "Draft",
    "admit",
    "built",
    "charter_bytes",
    "check_built",
    "check_membership",
    "differences",
    "extended",
    "load_charter",
    "merged",
    "parse_charter",
    "propose",
    "read_charter",
    "sign_charter",
    "trial_federation",
    "withdraw",
    "write_charter",
]
