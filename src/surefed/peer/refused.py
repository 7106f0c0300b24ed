"""Why something that arrived is not used: one exception, and one word for each reason."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """One word for each reason, which records and counters use."""

    OVERSIZE = "oversize"
    """Longer than any honest message; not looked at."""
    MALFORMED = "malformed"
    """Not the one canonical spelling of a message."""
    CHARTER = "charter"
    """Speaks of another charter, or of amendments that contradict ours."""
    STRANGER = "stranger"
    """Its sender is no member, by the amendments known here."""
    REVOKED = "revoked"
    """Its sender's keys were revoked."""
    FORGED = "forged"
    """The signature is not the sender's, or the sender is not who it was expected from."""
    CERTIFICATE = "certificate"
    """Names a certificate that the charter does not know as the sender's."""
    SHAPE = "shape"
    """Announces another number of weights, dtype, size or chunk than the charter says."""
    ROUND = "round"
    """A round that the charter does not have."""
    REPLAY = "replay"
    """A round that was heard before, or one that is older."""
    SKIPPED = "skipped"
    """A round too far ahead of what its sender can have reached."""
    EQUIVOCATED = "equivocated"
    """Its sender signed two different beliefs for one round."""
    HASH = "hash"
    """What was pulled is not what the manifest announced."""
    SIZE = "size"
    """A chunk or a belief of the wrong length."""
    NOT_FINITE = "not finite"
    """A number is NaN or infinite."""
    SUBNORMAL = "subnormal"
    """A number is too small for a normal float32; such numbers slow arithmetic down a hundredfold."""
    SLOW = "slow"
    """Chunks came too slowly for the deadline."""
    NOT_ALLOWED = "not allowed"
    """Asks for what it has no right to."""
    FLOOD = "flood"
    """More than a neighbour may send."""


class Refused(Exception):
    """What arrived is refused: the reason, for counters, and why, for people."""

    def __init__(self, reason: Reason, why: str) -> None:
        super().__init__(f"{reason}: {why}")
        self.reason = reason
        self.why = why
