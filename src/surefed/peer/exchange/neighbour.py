"""What is known of one neighbour: the manifests of its last rounds, and a belief or the pieces of one. All bounded."""

from __future__ import annotations

from dataclasses import dataclass

from surefed.peer.exchange.bucket import Bucket
from surefed.peer.exchange.heard import Received
from surefed.peer.exchange.pull import Pull
from surefed.peer.refused import Reason, Refused
from surefed.peer.wire import Manifest

KNOWN = 16
"""Rounds whose manifests are remembered, to notice a second one."""
BAD = 32
"""Bad messages that are looked at in one go ..."""
BAD_RATE = 8.0
"""... and a second; of what comes beyond that on the same key nothing is looked at, it is asked for instead."""
SILENT = 3
"""Rounds in a row that a site may be there and yet missing before it has only the grace ..."""
AGAIN = 8
"""... except in every so many-th."""


@dataclass(frozen=True, slots=True)
class Known:
    """A manifest that was verified, and the bytes that were signed."""

    manifest: Manifest
    message: bytes


class Equivocated(Refused):
    """Two manifests for one round."""

    def __init__(self, first: Known, second: Known) -> None:
        super().__init__(
            Reason.EQUIVOCATED, f"{first.manifest.sender} signed two beliefs of round {first.manifest.round}"
        )
        self.first, self.second = first, second


class Neighbour:
    """One neighbour's rounds; holds at most one belief, the pieces of another, and a few manifests."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.newest: int | None = None
        self.missed = False
        """Whether it was missing in the round before."""
        self.silent = 0
        """Rounds in a row in which it was there and yet missing."""
        self.patience = Bucket(BAD, BAD_RATE)
        self.belief: Received | None = None
        self.pull: Pull | None = None
        self._known: dict[int, Known] = {}

    def known(self, message: bytes) -> bool:
        """Whether this is its newest manifest, once more."""
        return self.newest is not None and self._known[self.newest].message == message

    def note(self, manifest: Manifest, message: bytes, *, asked: bool) -> None:
        """Remember a verified manifest; Refused if it is a second one for its round, or an old one nobody asked for."""
        new, before = Known(manifest, message), self._known.get(manifest.round)
        if before is not None and before.manifest.sha256 != manifest.sha256:
            raise Equivocated(before, new)
        if self.newest is not None and not asked and self._old(manifest.round):
            raise Refused(Reason.REPLAY, f"{self.site} is at round {self.newest}; this is round {manifest.round} again")
        self._known[manifest.round] = new
        self.newest = manifest.round if self.newest is None else max(self.newest, manifest.round)
        for round in sorted(self._known)[:-KNOWN]:
            del self._known[round]

    def _old(self, round: int) -> bool:
        assert self.newest is not None
        return (round < self.newest and round in self._known) or round <= self.newest - KNOWN

    def pulling(self, manifest: Manifest) -> Pull:
        """The pieces of this belief that are here; those of any other one are let go."""
        if self.pull is None or self.pull.closed or self.pull.manifest.sha256 != manifest.sha256:
            if self.pull is not None:
                self.pull.close()
            self.pull = Pull(manifest)
        return self.pull

    def concluded(self, *, missing: bool, present: bool) -> None:
        """How a round ended for it."""
        self.missed = missing
        self.silent = self.silent + 1 if missing and present else 0

    def worth_waiting(self, *, present: bool) -> bool:
        """Whether it is given the whole time of a round, rather than the grace.

        Not if it was missing before and shows no sign of life; nor if it is there and yet was missing a few times in a
        row, except now and then, so that a silent member cannot make every round last and a slow one is heard again.
        """
        if self.missed and not present:
            return False
        return self.silent < SILENT or self.silent % AGAIN == 0

    def best(self, round: int, staleness: int) -> Manifest | None:
        """The manifest to pull for a round: that round's, or the newest within the staleness that is not here yet."""
        if round in self._known:
            return self._known[round].manifest
        near = [at for at in self._known if abs(at - round) <= staleness]
        if not near or (self.belief is not None and self.belief.round >= max(near)):
            return None
        return self._known[max(near)].manifest

    def forget(self, round: int, staleness: int) -> None:
        """Let go of a belief, and of pieces, that no round from this one on can use."""
        if self.belief is not None and self.belief.round < round - staleness:
            self.belief = None
        if self.pull is not None and self.pull.manifest.round < round - staleness:
            self.pull.close()
            self.pull = None
