"""One round's hunt for beliefs: a thread a neighbour waits for its manifest and pulls, until all are in or time is up.

A neighbour can be silent, slow, frozen or lying; it costs its own thread and the deadline, and nobody else anything.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from surefed.peer.exchange.heard import Received
from surefed.peer.exchange.neighbour import Neighbour
from surefed.peer.exchange.pull import Pull
from surefed.peer.refused import Reason, Refused
from surefed.peer.wire import Manifest

IN_FLIGHT = 2
"""Chunks of one belief that are asked for at once: with one, a long link would lie idle between them."""
FIRST_LOOK = 0.5
"""Seconds without a post before a manifest is asked for; the pause doubles from there."""
LONGEST_LOOK = 10.0
CHUNK_TIMEOUT = 10.0
"""Seconds the first try for a chunk may take; each further one twice as long."""
PAUSE = 0.1
"""Seconds before a chunk is asked for again; doubles up to the longest."""
LONGEST_PAUSE = 2.0
TRIES = 6
"""Tries in a row for one chunk before its manifest is asked for again."""
DAMAGED = 3
"""How often a belief is pulled anew because its bytes were not what was signed."""
HURRY = 0.1
"""Seconds that a site which is late gives those who have not announced its round."""
FAR = 16
"""Rounds beyond all others that nobody can have reached honestly, short of a long partition."""


class Sources(Protocol):
    """What a hunt needs of the exchange."""

    news: threading.Condition

    def neighbour(self, site: str) -> Neighbour:
        """What is known of a site."""

    def present(self) -> frozenset[str]:
        """Who seems to be there."""

    def rounds_seen(self) -> dict[str, int]:
        """How far everybody claims to be."""

    def ask_manifest(self, site: str, round: int | None, timeout: float) -> int | None:
        """Ask for the manifest of a round; the round of what came, None for nothing good."""

    def ask_chunk(self, manifest: Manifest, chunk: int, timeout: float) -> bytes | None:
        """Ask for a chunk."""

    def refuse(self, site: str, refused: Refused) -> None:
        """Count what was refused."""

    def check(self, payload: bytes) -> None:
        """Refuse bytes that hold no belief."""

    def equivocators(self) -> frozenset[str]:
        """Who is not heard any more."""

    def spawn(self, task: Callable[[], object], name: str) -> threading.Thread:
        """Run a task on a thread of its own."""


@dataclass
class Gathering:
    """The state of one hunt; `decided` says what became of each site: its belief, or why there is none."""

    sources: Sources
    round: int
    staleness: int
    end: float
    grace: float
    late: bool = False
    begun: float = field(default_factory=time.monotonic)
    decided: dict[str, Received | Refused | str] = field(default_factory=dict)
    over: bool = False

    def run(self, sites: Collection[str], interrupted: Callable[[], bool]) -> None:
        """Hunt until every site is decided, patience or time is up, or somebody interrupts."""
        for site in sites:
            self.sources.spawn(partial(self._hunt, site), f"pull {site}")
        with self.sources.news:
            while not interrupted() and any(self._left(site) > 0 for site in sites if site not in self.decided):
                self.sources.news.wait(self._soonest(sites))
            self.over = True
            self.sources.news.notify_all()
        for site in sites:
            self._conclude(site)

    def _left(self, site: str) -> float:
        """Seconds that a site still has: the whole time, only the grace, or next to nothing if we are late."""
        if self.over:
            return 0.0
        neighbour = self.sources.neighbour(site)
        if self.late and (neighbour.newest is None or neighbour.newest < self.round):
            return min(self.end, self.begun + HURRY) - time.monotonic()
        whole = neighbour.worth_waiting(present=site in self.sources.present())
        return (self.end if whole else min(self.end, self.begun + self.grace)) - time.monotonic()

    def _soonest(self, sites: Collection[str]) -> float:
        left = [self._left(site) for site in sites if site not in self.decided]
        return max(0.0, min([0.25, *left]))

    def _decide(self, site: str, what: Received | Refused | str) -> None:
        with self.sources.news:
            if not self.over:
                self.decided[site] = what
            self.sources.news.notify_all()

    def _hunt(self, site: str) -> None:
        """Wait for the manifest, asking for it now and then; pull what it announces."""
        neighbour, damaged, look = self.sources.neighbour(site), 0, FIRST_LOOK
        due, ahead = self.begun + look, False
        while site not in self.decided and self._left(site) > 0:
            if site in self.sources.equivocators():
                return self._decide(site, Refused(Reason.EQUIVOCATED, f"{site} signed two beliefs for one round"))
            if self._beyond(neighbour) and not ahead:
                due, ahead = time.monotonic(), True
            manifest = neighbour.best(self.round, self.staleness)
            if manifest is not None:
                pull = self._pull(neighbour, manifest)
                if pull.whole:
                    damaged += not self._take(neighbour, pull, last=damaged == DAMAGED - 1)
                    continue
                self._pause(site, due)
            elif time.monotonic() < due:
                self._wait(min(due - time.monotonic(), self._left(site)))
            if time.monotonic() >= due:
                self._look(site)
                look = min(2 * look, LONGEST_LOOK)
                due = time.monotonic() + look
        return None

    def _wait(self, seconds: float) -> None:
        """Until there is news of anybody, or so long."""
        with self.sources.news:
            if not self.over:
                self.sources.news.wait(max(0.0, seconds))

    def _pause(self, site: str, until: float) -> None:
        """Do nothing for a while, news or no news."""
        while (now := time.monotonic()) < until and self._left(site) > 0:
            self._wait(min(until - now, self._left(site)))

    def _beyond(self, neighbour: Neighbour) -> bool:
        return neighbour.newest is not None and neighbour.newest > self.round + self.staleness

    def _look(self, site: str) -> None:
        """Ask for the manifest of the round; a site that has gone beyond it and kept nothing is decided."""
        came = self.sources.ask_manifest(site, self.round, min(CHUNK_TIMEOUT, max(0.01, self._left(site))))
        if came is not None and came > self.round + self.staleness:
            self._decide(site, f"is at round {came} and keeps round {self.round} no more")

    def _pull(self, neighbour: Neighbour, manifest: Manifest) -> Pull:
        """Ask for what is not here yet, two pieces at a time, until all is here or nothing more comes."""
        pull, ended = neighbour.pulling(manifest), threading.Semaphore(0)
        lanes = min(IN_FLIGHT, manifest.chunks - pull.arrived)

        def lane() -> None:
            try:
                self._fill(neighbour.site, pull)
            finally:
                ended.release()

        for _ in range(lanes - 1):
            self.sources.spawn(lane, f"pull {neighbour.site}")
        if lanes:
            lane()
        for _ in range(lanes):
            ended.acquire()
        return pull

    def _fill(self, site: str, pull: Pull) -> None:
        """Ask for one piece after the other; give up after a few tries in vain, or when it is gone."""
        failed = 0
        while (left := self._left(site)) > 0 and failed < TRIES and (chunk := pull.take()) is not None:
            piece = self.sources.ask_chunk(pull.manifest, chunk, min(CHUNK_TIMEOUT * 2**failed, left))
            if piece:
                try:
                    pull.put(chunk, piece)
                    failed = 0
                    continue
                except Refused as refused:
                    self.sources.refuse(site, refused)
            pull.give_back(chunk)
            if piece == b"":
                return
            failed += 1
            time.sleep(min(PAUSE * 2**failed, LONGEST_PAUSE, max(0.0, self._left(site))))

    def _take(self, neighbour: Neighbour, pull: Pull, *, last: bool) -> bool:
        """Check the whole and keep it; it decides the site if it is of this very round. Whether it was good.

        Damaged bytes are pulled anew, unless this was the last try; a belief that was signed and is none decides too.
        """
        try:
            payload = pull.finish()
            self.sources.check(payload)
        except Refused as refused:
            self.sources.refuse(neighbour.site, refused)
            if last or refused.reason is not Reason.HASH:
                self._decide(neighbour.site, refused)
            return False
        belief = Received(pull.manifest.round, payload)
        with self.sources.news:
            if not self.over:
                neighbour.belief = belief
        if belief.round == self.round:
            self._decide(neighbour.site, belief)
        return True

    def _conclude(self, site: str) -> None:
        """What becomes of a site at the end: a belief near enough, or the reason why there is none."""
        neighbour = self.sources.neighbour(site)
        belief, before = neighbour.belief, self.decided.get(site)
        near = belief is not None and abs(belief.round - self.round) <= self.staleness
        self._suspect(neighbour)
        if isinstance(before, Refused) or (before is not None and not near):
            return
        if belief is not None and near:
            self.decided[site] = belief
            return
        pull = neighbour.pull
        if pull is not None and pull.manifest.round == self.round and pull.arrived:
            why = f"sent {pull.arrived} of {pull.manifest.chunks} chunks in time"
            self.sources.refuse(site, Refused(Reason.SLOW, f"{site} {why}"))
        elif neighbour.newest is None or site not in self.sources.present():
            why = "is not there"
        elif neighbour.newest < self.round:
            why = f"is still at round {neighbour.newest}"
        else:
            why = "announced its belief but does not give it"
        self.decided[site] = why

    def _suspect(self, neighbour: Neighbour) -> None:
        """Count a claim far beyond everybody else's; where others are as far, it is we who are late."""
        seen, present = self.sources.rounds_seen(), self.sources.present()
        others = [seen[site] for site in present if site in seen and site != neighbour.site]
        furthest = max([self.round, *others])
        if others and neighbour.newest is not None and neighbour.newest > furthest + FAR:
            why = f"{neighbour.site} claims round {neighbour.newest}, and nobody else is beyond {furthest}"
            self.sources.refuse(neighbour.site, Refused(Reason.SKIPPED, why))
