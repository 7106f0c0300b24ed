"""A peer: learn, publish, gather until the deadline, judge whoever answered, save, go on.

Rounds are counted, not timed: clocks may differ. A round ends when everybody expected was heard, or at the deadline by
this machine's own steady clock; nobody's hiccup stops the others. Without faults everybody hears everybody's belief of
the same round, and the numbers are the simulator's.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from surefed.core import Belief, IdentityError, StorageError
from surefed.data import Federation
from surefed.peer.charter import Charter, CharterFile, write_charter
from surefed.peer.disk import MIB, Disk, Stopped
from surefed.peer.exchange import Exchange, Heard
from surefed.peer.figures import measured, trust
from surefed.peer.identity import SOON, Identity
from surefed.peer.lone import Lone
from surefed.peer.pace import Pace
from surefed.peer.record import PeerRecord
from surefed.peer.refused import Reason, Refused
from surefed.peer.status import status
from surefed.peer.store import Store
from surefed.peer.tally import Tally
from surefed.peer.transport import Transport
from surefed.peer.verdict import Verdict, verdicts
from surefed.peer.wire import decode, encode
from surefed.records import alone
from surefed.rules import Inspection

LOG = logging.getLogger("surefed.peer")

KEEP = 8
"""Rounds that a site serves at least, so that neighbours who are a little slower lose nothing."""


@dataclass(frozen=True, slots=True)
class Round:
    """What a peer says of a round that is done."""

    round: int
    rounds: int
    line: dict[str, Any]
    verdicts: dict[str, Verdict]
    seconds: float


Watch = Callable[[Round], None]
Send = Callable[[int, Belief], Belief]
"""(round counted from 1, what was learned [weight]) -> what is sent instead; only a malicious peer has one."""


class Peer:
    """One site of a federation.

    charter: the file, which is looked at every round, or a charter that will not change.
    identity: who signs. data: the site's own samples. folder: the record and the state.
    watch: called after every round. send: what a malicious peer sends.
    """

    def __init__(
        self,
        charter: CharterFile | Charter,
        identity: Identity,
        data: Federation,
        transport: Transport,
        folder: Path,
        *,
        save_every: int = 1,
        evaluate_every: int = 1,
        least_disk: int = 0,
        kind: str = "memory",
        watch: Watch | None = None,
        send: Send | None = None,
    ) -> None:
        self.file = charter if isinstance(charter, CharterFile) else None
        self.charter = charter.charter if isinstance(charter, CharterFile) else charter
        self.identity, self.folder = identity, folder
        self.lone = Lone(self.charter, identity.site, data)
        check_model(self.lone, self.charter)
        self._save_every, self._evaluate_every, self._kind = save_every, evaluate_every, kind
        self._watch, self._send = watch or (lambda done: None), send or (lambda round, belief: belief)
        self._stop = threading.Event()
        self._disk = Disk(folder, least_disk * MIB, self._stop, self._tell_disk)
        self._record = PeerRecord(folder)
        self._keep = max(self.charter.staleness + 2, KEEP)
        self._pace = Pace(self.charter.deadline, self._keep)
        self._tally, self._jumped, self._quiet, self._dates = Tally(), 0, 0, 0
        self._last: dict[str, Any] | None = None
        self._askers: dict[int, frozenset[str]] = {}
        self._sent = b""
        self.exchange = Exchange(
            transport, self.charter, identity, keep=self._keep, folder=folder, allowed=self._allowed
        )

    @property
    def belief(self) -> Belief:
        """The social belief after the last round. [weight]"""
        return self.lone.belief.clone()

    def stop(self) -> None:
        """Stop after the step at hand; may be called from any thread."""
        self._stop.set()
        self.exchange.interrupt()

    def run(self) -> None:
        """Play the rounds that are left, then serve the last belief until the neighbours have it.

        Raises:
            Stopped: the peer was asked to stop; all whole rounds are saved.
        """
        with alone(self.folder):
            self._store = Store(self.folder, hashlib.sha256(self._name.encode()).hexdigest())
            self._begin()
            self.exchange.open()
            try:
                if self._sent:
                    self._serve(self.lone.round, self._sent)
                self._play()
            except Stopped:
                self._event("stopped", f"stopped after round {self.lone.round}")
                self._say("stopped")
                raise
            finally:
                self.exchange.close()

    @property
    def _name(self) -> str:
        return f"{self.charter.digest}/{self.identity.site}"

    def _begin(self) -> None:
        """Go on from the last whole round, or begin."""
        saved = self._store.load(self.lone)
        about, self._sent = saved or (None, b"")
        self._new = about is None
        if about is not None:
            self._tally, self._jumped, self._last = Tally(about["tally"]), int(about["jumped"]), about["last"]
        self._disk.write(lambda: self._record.begin(self.lone, self.charter, self._store.identity))
        if about is None:
            self._event("started", f"{self.identity.site} begins")
        else:
            self._event("resumed", f"{self.identity.site} goes on after round {self.lone.round}")
            if about["data"] != self.lone.setup.clean.fingerprint():
                self._event("data", "the data of the site is not what it was before")

    def _play(self) -> None:
        began = time.monotonic()
        while self.lone.round < self.charter.rounds:
            self._check_stop()
            self._amend()
            self._check_dates()
            self._disk.wait_for_room()
            self._watch(self._round(self._catch_up()))
        result = {"rounds": self.lone.round, "final": self._last, "seconds": round(time.monotonic() - began, 3)}
        self._disk.write(lambda: self._record.finish(result))
        self._event("finished", f"all {self.charter.rounds} rounds are done")
        self._say("finished")
        self._linger()

    def _round(self, jumped: int) -> Round:
        """One round: learn, publish, gather, judge, save."""
        number, lap = self.lone.round + 1, _Lap()
        expected = self._expected(number)
        self._say("learning")
        previous = self.lone.learn()
        lap("learn")
        self._publish(number)
        self._say("waiting")
        end = time.monotonic() + self.charter.deadline
        self._pace.note(self.exchange.rounds_seen(), time.monotonic())
        late = self._pace.late(number, expected, time.monotonic())
        heard = self.exchange.gather(number, expected, end, staleness=self.charter.staleness, late=late)
        self._check_stop()
        lap("wait")
        found, inspection = self._judge(previous, expected, heard)
        lap("judge")
        line = self._line(found, inspection, jumped)
        lap("evaluate")
        self._tally.add(number, found)
        self._tell_refused(heard)
        self._last = line
        self._disk.write(lambda: self._record.round(line, {"round": number, "rounds": lap.total, **lap.parts}))
        self._save()
        return Round(number, self.charter.rounds, line, found, lap.total)

    def _expected(self, number: int) -> list[str]:
        """The neighbours whose belief of this round is wanted: active members that never equivocated."""
        active, liars = self.charter.members.active, self.exchange.equivocators()
        return [site for site in self.lone.hears(number - 1) if site in active and site not in liars]

    def _publish(self, number: int) -> None:
        """Give the belief to whoever may hear it."""
        self._sent = encode(self._send(number, self.lone.belief), self.charter.learn.published)
        if number < self._quiet or not self._serve(number, self._sent):
            self._event("silent", f"nothing is sent in round {number}: another belief may have gone out for it before")

    def _serve(self, number: int, payload: bytes) -> bool:
        """Announce a belief, unless another one went out for this round before a restart; whether it was announced."""
        askers = frozenset(self.lone.heard_by(number - 1))
        self._askers = {old: who for old, who in self._askers.items() if old > number - self._keep} | {number: askers}
        digest, may = hashlib.sha256(payload).hexdigest(), [False]
        self._disk.write(lambda: may.append(self._store.may_publish(number, digest)))
        if may[-1]:
            self.exchange.publish(number, payload)
        return may[-1]

    def _allowed(self, asker: str, number: int) -> bool:
        """Whether a site may have our belief of a round: it is a neighbour in one within the staleness."""
        near, askers = self.charter.staleness, self._askers
        return any(asker in askers.get(at, ()) for at in range(number - near, number + near + 1))

    def _judge(self, previous: Belief, expected: list[str], heard: Heard) -> tuple[dict[str, Verdict], Inspection]:
        """Judge whoever answered, and say what became of everybody."""
        self._say("judging")
        beliefs: dict[str, Belief] = {}
        malformed = {site: str(why) for site, why in heard.malformed.items()}
        for site, received in heard.beliefs.items():
            try:
                beliefs[site] = decode(received.payload, self.charter.weights, self.charter.learn.published)
            except Refused as refused:
                malformed[site] = refused.why
        inspection = self.lone.judge(previous, beliefs)
        found = verdicts(
            self.lone.sites,
            own=self.identity.site,
            expected=expected,
            used={site: heard.beliefs[site].round for site in beliefs},
            missing=heard.missing,
            malformed=malformed,
            equivocated=self.exchange.equivocators(),
            inspection=inspection,
            network=self.lone.setup.network,
        )
        return found, inspection

    def _line(self, found: Mapping[str, Verdict], inspection: Inspection, jumped: int) -> dict[str, Any]:
        """The round as the record has it."""
        done = self.lone.round
        look = done % self._evaluate_every == 0 or done in (1, self.charter.rounds)
        return {
            "round": done,
            **(measured(self.lone) if look else {}),
            **trust(self.lone, inspection, found),
            "jumped": jumped,
            "neighbours": {site: one.plain() for site, one in found.items()},
        }

    def _save(self) -> None:
        if self.lone.round % self._save_every and self.lone.round != self.charter.rounds:
            return
        about = {
            "tally": self._tally.plain(),
            "jumped": self._jumped,
            "last": self._last,
            "data": self.lone.setup.clean.fingerprint(),
        }
        self._disk.write(lambda: self._store.save(self.lone, about, self._sent))

    def _catch_up(self) -> int:
        """Jump if every live neighbour is too far ahead; how many rounds were left out.

        A site that begins without a state while the others are under way may have taken part before and lost its
        folder; it keeps silent for two rounds, because its former self may have spoken in them.
        """
        number, now = self.lone.round + 1, time.monotonic()
        self._pace.note(self.exchange.rounds_seen(), now)
        target = min(self._pace.jump(number, self._expected(number), now), self.charter.rounds)
        if target > number:
            self.lone.world.round = target - 1
            self._jumped += target - number
            self._quiet = target + 2 if self._new else 0
            self._event("jumped", f"all neighbours are further: rounds {number} to {target - 1} are left out")
        self._new = False if target > number else self._new
        return target - number

    def _amend(self) -> None:
        """Take over amendments: those in the file, and those that neighbours sent."""
        if self.file is None:
            return
        newer: Charter | None = None
        try:
            newer = self.file.poll()
            sent = self.exchange.newer()
            if sent is not None and (longer := self.file.extend(sent)) is not None:
                newer = longer
                write_charter(self.file.path, longer)
        except (IdentityError, StorageError) as error:
            self._event("amended", str(error))
        if newer is None or newer.amendment <= self.charter.amendment:
            return
        said = [one.said() for one in newer.amendments[self.charter.amendment : newer.amendment]]
        self.charter = newer
        self.exchange.amend(newer)
        self.lone.amend(newer)
        self._event("amended", "; ".join(said))
        if self.identity.site not in newer.members.active:
            raise IdentityError(f"{self.identity.site} was revoked from {newer.name!r}; the members may renew its keys")

    def _check_dates(self) -> None:
        """Say once that the certificate is about to expire, and once that it has: others close their links then."""
        left = self.identity.facts.left()
        stage = 2 if left <= timedelta(0) else 1 if left < SOON else 0
        if stage > self._dates:
            self._dates = stage
            words = "has expired, so the others close their links" if stage == 2 else f"expires in {left.days} days"
            text = f"the certificate {words}; renew it with `surefed keys renew {self.identity.site}` and start again"
            LOG.warning("%s: %s", self.identity.site, text)
            self._event("certificate", text)

    def _linger(self) -> None:
        """Serve the last belief until every neighbour that is present has it, or for a deadline."""
        last, end = self.charter.rounds, time.monotonic() + self.charter.deadline
        wanted = frozenset(self.lone.heard_by(last - 1))
        while time.monotonic() < end and (wanted & self.exchange.present()) - self.exchange.pulled(last):
            if self._stop.wait(0.05):
                return

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise Stopped

    def _tell_disk(self, paused: bool, text: str) -> None:
        LOG.warning("%s: %s", self.identity.site, text)
        self._event("disk", text)
        self._say("paused" if paused else "learning", text if paused else "")

    def _tell_refused(self, heard: Heard) -> None:
        for site, reason in self._tally.refuse({site: dict(counts) for site, counts in heard.refused.items()}):
            text = f"a message in the name of {site} was refused: {reason}"
            if reason == Reason.REPLAY:
                text = f"an old message of {site} came again, as after a restart"
            self._event("refused", f"{text}; more are only counted", site)

    def _event(self, kind: str, text: str, site: str | None = None) -> None:
        LOG.info("%s: %s", self.identity.site, text)
        self._record.event(self.lone.round, kind, text, site)

    def _say(self, doing: str, why: str = "") -> None:
        """Write down what the peer is doing now, for whoever looks."""
        self._record.status(
            status(
                self.charter,
                self.identity,
                round=self.lone.round,
                doing=doing,
                why=why,
                transport=self._kind,
                present=self.exchange.present(),
                last=self._last,
                tally=self._tally,
                jumped=self._jumped,
                disk_free=self._disk.free,
            )
        )


def check_model(lone: Lone, charter: Charter) -> None:
    """Refuse to play with another network than the charter's."""
    network = lone.setup.network
    if (network.weights, network.fingerprint()) != (charter.weights, charter.model_digest):
        here, there = network.fingerprint()[:12], charter.model_digest[:12]
        raise IdentityError(
            f"the model {charter.model.name!r} is not the charter's: {network.weights} weights and digest {here} here, "
            f"{charter.weights} and {there} there; install the versions of surefed, torch and the model that the "
            "founders used"
        )


class _Lap:
    """Seconds of each part of a round."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}
        self._began = self._last = time.perf_counter()

    def __call__(self, part: str) -> None:
        now = time.perf_counter()
        self.parts[part], self._last = round(now - self._last, 6), now

    @property
    def total(self) -> float:
        return round(time.perf_counter() - self._began, 6)
