"""Beliefs between members: announced by signed manifests, pulled in chunks by signed requests, checked at every step.

What is bounded, whatever is sent: memory, by two beliefs a neighbour and the last `keep` of our own; disk, by one line
for each site and reason and one proof for each equivocator; time, by the deadline of the round.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from surefed.peer.charter import Charter
from surefed.peer.exchange.charters import DOUBT, Charters
from surefed.peer.exchange.evidence import Evidence
from surefed.peer.exchange.gathering import CHUNK_TIMEOUT, Gathering
from surefed.peer.exchange.heard import Counts, Heard, Received
from surefed.peer.exchange.ledger import Ledger
from surefed.peer.exchange.neighbour import Equivocated, Neighbour
from surefed.peer.exchange.serving import Allowed, Serving
from surefed.peer.exchange.shelf import Shelf
from surefed.peer.refused import Reason, Refused
from surefed.peer.transport.base import Reply, Transport
from surefed.peer.wire import (
    Manifest,
    Signer,
    charter_request,
    check,
    chunk_request,
    manifest_for,
    manifest_request,
    read_manifest,
    write_manifest,
)

GRACE = 2.0


class Exchange:
    """One site's side of the exchange. All methods may be called from any thread; one gathering at a time."""

    def __init__(
        self,
        transport: Transport,
        charter: Charter,
        identity: Signer,
        *,
        keep: int,
        folder: Path,
        allowed: Allowed = lambda asker, round: True,
    ) -> None:
        """`keep`: how many of our beliefs are served; `allowed`: whether an asker may have our belief of a round."""
        self.site = identity.site
        self.news = threading.Condition()
        self._transport, self._charter, self._identity = transport, charter, identity
        self._shelf, self._ledger, self._evidence = Shelf(keep), Ledger(folder), Evidence(folder)
        self._serving = Serving(self.site, self._shelf, self._ledger, allowed)
        self._charters = Charters(self._ask_charter)
        self._neighbours: dict[str, Neighbour] = {}
        self._followed: frozenset[str] = frozenset()
        self._threads: set[threading.Thread] = set()
        self._stopped = False

    def open(self) -> None:
        """Start to serve and to listen."""
        self._stopped = False
        self._transport.open(self._answer, self._hear)

    def close(self) -> None:
        """Stop, and wait for the threads."""
        self.interrupt()
        self._transport.close()
        for thread in list(self._threads):
            thread.join()

    def interrupt(self) -> None:
        """Have this gathering, and every one until `open`, return at once with what it has."""
        with self.news:
            self._stopped = True
            self.news.notify_all()

    def amend(self, charter: Charter) -> None:
        """Go by an amended charter from now on, and let in whom it adds."""
        self._charter = charter
        self._transport.admit(charter.sites)

    def newer(self) -> Charter | None:
        """A longer charter that a neighbour sent, all its signatures verified, for `amend`."""
        return self._charters.newer(self._charter)

    def publish(self, round: int, payload: bytes) -> None:
        """Announce a belief and serve it. One round, one belief: another one for the same round is an error."""
        if len(payload) != self._charter.size:
            raise ValueError(f"a belief of {len(payload)} bytes; the charter's have {self._charter.size}")
        manifest = manifest_for(self._charter, self._identity, round, payload)
        message = write_manifest(manifest, self._identity)
        self._shelf.put(manifest, message, payload)
        self._transport.post(message)

    def follow(self, sites: Collection[str]) -> None:
        """Hear the posts of these sites; a gathering follows whom it expects by itself."""
        wanted = frozenset(sites) - {self.site}
        if wanted != self._followed:
            self._followed = wanted
            self._transport.follow(wanted)

    def gather(
        self,
        round: int,
        expected: Collection[str],
        deadline: float,
        *,
        staleness: int = 0,
        grace: float = GRACE,
        late: bool = False,
    ) -> Heard:
        """Pull the beliefs of a round until all are in, or until `deadline` by the monotonic clock.

        A belief within `staleness` rounds is used where none of the round itself came. A site that was missing last
        time and shows no sign of life is given `grace` seconds instead of the whole time, and so is, in most rounds, a
        site that is there and yet was missing again and again. Who is `late` waits hardly at all for a site that has
        announced neither this round nor a later one.
        """
        sites = [site for site in dict.fromkeys(expected) if site != self.site]
        self.follow(self._followed | set(sites))
        for site in sites:
            self.neighbour(site).forget(round, staleness)
        hunt = Gathering(self, round, staleness, deadline, grace, late)
        hunt.run(sites, lambda: self._stopped)
        heard = Heard({}, {}, {}, self._ledger.fresh())
        for site in sites:
            what = hunt.decided[site]
            if isinstance(what, Received):
                heard.beliefs[site] = what
            elif isinstance(what, Refused):
                heard.malformed[site] = str(what.reason)
            else:
                heard.missing[site] = what
            self.neighbour(site).concluded(missing=isinstance(what, str), present=site in self.present())
            self.neighbour(site).forget(round + 1, staleness)
        return heard

    def survey(self, sites: Collection[str], timeout: float) -> dict[str, int]:
        """Ask sites how far they are; the newest verified round of each, where one is known."""
        end = time.monotonic() + timeout
        asking = [self.spawn(partial(self.ask_manifest, site, None, timeout), f"survey {site}") for site in sites]
        for thread in asking:
            thread.join(max(0.0, end - time.monotonic()))
        return {site: round for site, round in self.rounds_seen().items() if site in sites}

    def rounds_seen(self) -> dict[str, int]:
        """The newest verified round of each site that was heard."""
        known = [(site, neighbour.newest) for site, neighbour in list(self._neighbours.items())]
        return {site: newest for site, newest in known if newest is not None}

    def refused(self) -> Counts:
        """Everything refused since the start, by site and reason."""
        return self._ledger.counts()

    def equivocators(self) -> frozenset[str]:
        """Who signed two beliefs for one round; none of them is heard any more."""
        return self._evidence.sites

    def present(self) -> frozenset[str]:
        """The sites that seem to be there."""
        return self._transport.present()

    def pulled(self, round: int) -> frozenset[str]:
        """Who was given all of our belief of a round."""
        return self._shelf.pulled(round)

    def neighbour(self, site: str) -> Neighbour:
        """What is known of a member."""
        return self._neighbours.setdefault(site, Neighbour(site))

    def ask_manifest(self, site: str, round: int | None, timeout: float) -> int | None:
        """Ask for the manifest of a round, or the newest; the round of what came, None for nothing good."""
        request = manifest_request(self._charter, self._identity, site, round)
        message = self._transport.ask(site, request, timeout=timeout)
        return self._consider(self.neighbour(site), message, asked=True) if message else None

    def ask_chunk(self, manifest: Manifest, chunk: int, timeout: float) -> bytes | None:
        """Ask for a chunk; empty if it is not there any more."""
        request = chunk_request(self._charter, self._identity, manifest, chunk)
        return self._transport.ask(manifest.sender, request, timeout=timeout)

    def check(self, payload: bytes) -> None:
        """Refuse bytes that hold no belief."""
        check(payload, self._charter.weights, self._charter.learn.published)

    def refuse(self, site: str, refused: Refused) -> None:
        """Count it; keep the proof if it is equivocation; find out whether another charter explains it."""
        self._ledger.count(site, refused)
        if isinstance(refused, Equivocated):
            first, second = refused.first, refused.second
            self._evidence.keep(site, first.manifest.round, first.message, second.message)
        if refused.reason in DOUBT:
            self._compare_charters(site)

    def spawn(self, task: Callable[[], object], name: str) -> threading.Thread:
        """Run a task on a thread that `close` waits for."""

        def run() -> None:
            try:
                task()
            finally:
                self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=run, name=name, daemon=True)
        self._threads.add(thread)
        thread.start()
        return thread

    def _answer(self, message: bytes) -> Reply | None:
        return self._serving.answer(message, self._charter)

    def _hear(self, site: str, post: bytes) -> None:
        """A post came on a site's key: a manifest, or anything at all."""
        if site not in self._followed:
            return
        neighbour = self.neighbour(site)
        if neighbour.patience.empty:
            self._ledger.count(site, Refused(Reason.FLOOD, f"too many bad messages in the name of {site}"))
        elif not neighbour.known(post):
            self._consider(neighbour, post, asked=False)

    def _consider(self, neighbour: Neighbour, message: bytes, *, asked: bool) -> int | None:
        """Believe a manifest if it can be; the round that it is of."""
        try:
            manifest = read_manifest(message, self._charter, sender=neighbour.site)
            with self.news:
                neighbour.note(manifest, message, asked=asked)
                self.news.notify_all()
        except Refused as refused:
            neighbour.patience.take()
            self.refuse(neighbour.site, refused)
            return None
        if manifest.amendment > self._charter.amendment:
            self._compare_charters(neighbour.site)
        return manifest.round

    def _ask_charter(self, site: str) -> bytes | None:
        request = charter_request(self._charter, self._identity, site)
        return self._transport.ask(site, request, timeout=CHUNK_TIMEOUT)

    def _compare_charters(self, site: str) -> None:
        """Ask a site for its charter, once in a while, on a thread of its own."""
        if not self._stopped and self._charters.due(site):
            self.spawn(lambda: self._charters.look(site, self._charter), f"charter {site}")
