"""What is wrong before a site is run: every check says PASS, WARN or FAIL, and how to put it right."""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from surefed.core import NetworkError, RecordError, SureFEDError
from surefed.data import Federation
from surefed.peer.charter import Charter, check_membership, read_charter
from surefed.peer.data import own_data
from surefed.peer.disk import MIB
from surefed.peer.exchange import Exchange
from surefed.peer.identity import SKEW, SOON, Identity, load_identity
from surefed.peer.lone import Lone
from surefed.peer.node import check_model
from surefed.peer.opening import transport
from surefed.peer.reach import Unreachable, reach
from surefed.peer.record import read_status
from surefed.peer.settings import Settings
from surefed.peer.wire import decode, encode
from surefed.records import alone

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. exit_code: what the command ends with if this is the first to fail."""

    check: str
    result: Literal["PASS", "WARN", "FAIL"]
    text: str
    fix: str = ""
    exit_code: int = 0

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


CHECKS = (
    "settings", "charter", "keys", "membership", "certificate", "clock", "data", "model", "disk", "dry round", "port",
    "neighbours",
)  # fmt: skip
"""What is looked at, in this order."""


class _Failed(Exception):
    """A check failed, and what builds on it cannot be looked at."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding = finding


def examine(file: Path, wait: float = 10.0) -> Iterator[Finding]:
    """Every check, from the files to a dry round, one after the other; the first that others build on ends it."""
    try:
        settings = _try("settings", lambda: Settings.read(file))
        yield Finding("settings", "PASS", f"{file} is well formed; this is {settings.site}")
        charter = _try("charter", lambda: read_charter(settings.charter))
        yield Finding("charter", "PASS", f"{charter.name!r}, {len(charter.sites)} sites, signed by all founders")
        identity = _try("keys", lambda: load_identity(settings.site, settings.keys))
        yield Finding("keys", "PASS", f"those of {settings.site} belong together, and nobody else may read them")
        _try("membership", lambda: check_membership(identity, charter))
        yield Finding("membership", "PASS", f"{settings.site} is a member with this key and this certificate")
        yield from _dates(identity)
        data = _try("data", lambda: own_data(settings.data, charter, settings.site))
        yield Finding("data", "PASS", f"{int(data.sizes[0])} samples to train on, {len(data.test_labels)} held out")
        lone = _try("model", lambda: _model(charter, settings.site, data))
        yield Finding("model", "PASS", f"{charter.model.name}, {charter.weights} weights, the charter's digest")
        yield from _disk(settings, charter)
        yield _try("dry round", lambda: _dry(lone))
        running = _running(settings)
        held = running and settings.network.listen is not None
        yield Finding("port", "PASS", "the peer is running and holds it") if held else _port(settings)
        yield from _neighbours(settings, charter, identity, lone, 0.0 if running else wait)
    except _Failed as failed:
        yield failed.finding
        rest = CHECKS[CHECKS.index(failed.finding.check) + 1 :] if failed.finding.check in CHECKS else ()
        if rest:
            yield Finding("not looked at", "WARN", f"{', '.join(rest)}: they build on the check that failed")


def _try(check: str, work: Callable[[], T]) -> T:
    """The result of a check, or a failed finding whose text is the error: our errors say how to put them right."""
    try:
        return work()
    except SureFEDError as error:
        text, _, fix = str(error).partition("; ")
        raise _Failed(Finding(check, "FAIL", text, fix, error.exit_code)) from None


def _dates(identity: Identity) -> Iterator[Finding]:
    """How long the certificate holds, and whether the clock can be right. Rounds are not timed; certificates are."""
    now, facts = datetime.now(UTC), identity.facts
    left = facts.left(now)
    until = f"the certificate holds until {facts.expires:%Y-%m-%d}, {left.days} days"
    if left < SOON:
        yield Finding("certificate", "WARN", until, f"renew it: surefed keys renew {identity.site}")
    else:
        yield Finding("certificate", "PASS", until)
    made = facts.begins + SKEW
    if now < made:
        text = f"it is {now:%Y-%m-%d %H:%M} UTC here, and the certificate was made at {made:%Y-%m-%d %H:%M}"
        yield Finding("clock", "FAIL", text, "set the clock: others may refuse what it says is not valid yet", 6)
    else:
        yield Finding("clock", "PASS", f"it is {now:%Y-%m-%d %H:%M} UTC here, after the certificate was made")


def _model(charter: Charter, site: str, data: Federation) -> Lone:
    lone = Lone(charter, site, data)
    check_model(lone, charter)
    return lone


def _disk(settings: Settings, charter: Charter) -> Iterator[Finding]:
    """The folder can be written, and there is room for the state twice and for the record."""
    folder = settings.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"x")
    except OSError as error:
        yield Finding(
            "disk", "FAIL", f"cannot write to {folder}: {error.strerror}", "fix the path or its permissions", 5
        )
        return
    free, needed = shutil.disk_usage(folder).free, settings.least_disk * MIB + 16 * charter.size
    text = f"{free // MIB} MiB are free in {folder}"
    if free < needed:
        fix = f"make room: {needed // MIB} MiB are needed, or lower least_disk"
        yield Finding("disk", "FAIL", text, fix, 5)
    else:
        yield Finding("disk", "PASS", text)


def _port(settings: Settings) -> Finding:
    """Whether the port can be listened on."""
    listen = settings.network.listen
    if listen is None:
        return Finding("port", "PASS", "this site only dials out")
    host, _, port = listen.rpartition(":")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        return Finding(
            "port",
            "FAIL",
            f"cannot listen on {listen}: {error.strerror}",
            "stop what holds the port (is the peer running already?), or set network.listen to another",
            NetworkError.exit_code,
        )
    return Finding("port", "PASS", f"{listen} is free to listen on")


def _dry(lone: Lone) -> Finding:
    """One round without neighbours, on a copy that is thrown away."""
    began = time.perf_counter()
    previous = lone.learn()
    numbers = lone.setup.experiment.learn.published
    decode(encode(lone.belief, numbers), lone.belief.weights, numbers)
    lone.judge(previous, {})
    return Finding("dry round", "PASS", f"learned, encoded and judged in {time.perf_counter() - began:.2f} s")


def _running(settings: Settings) -> bool:
    """Whether a peer holds the folder now."""
    try:
        with alone(settings.folder):
            return False
    except RecordError:
        return True


def _neighbours(settings: Settings, charter: Charter, identity: Identity, lone: Lone, wait: float) -> Iterator[Finding]:
    """Shake hands with every neighbour whose address is known; wait for the others to come to us."""
    addresses = settings.network.addresses
    sites = [site for site in lone.hears(0) if site in charter.members.active]
    for site in (site for site in sites if site in addresses):
        try:
            yield Finding("neighbour", "PASS", f"{site}: {reach(site, addresses[site], identity, charter)}")
        except Unreachable as error:
            yield Finding(
                "neighbour", "FAIL", f"{site} at {addresses[site]}: {error.why}", error.fix, NetworkError.exit_code
            )
    dialling = frozenset(site for site in sites if site not in addresses)
    if not dialling:
        return
    there = _present(settings, charter, identity, dialling, wait)
    for site in sorted(dialling):
        if site in there:
            yield Finding("neighbour", "PASS", f"{site} is there")
        else:
            fix = "start it, and have it dial us or the relay"
            if settings.network.relay is None:
                fix = f"start it, have it dial us, or add network.addresses.{site}"
            waited = f"did not come within {wait:g} s" if wait else "is not seen by the running peer"
            yield Finding("neighbour", "FAIL", f"{site} {waited}", fix, NetworkError.exit_code)


def _present(
    settings: Settings, charter: Charter, identity: Identity, sites: frozenset[str], wait: float
) -> frozenset[str]:
    """Who of these sites is there: by the word of the running peer, or by listening for a while."""
    if not wait:
        return frozenset((read_status(settings.folder) or {}).get("present", ()))
    with tempfile.TemporaryDirectory() as scratch:
        carried = transport(settings, charter, identity)
        exchange = Exchange(carried, charter, identity, keep=1, folder=Path(scratch))
        try:
            _try("network", exchange.open)
            exchange.follow(sites)
            until = time.monotonic() + wait
            while time.monotonic() < until and sites - exchange.present():
                time.sleep(0.05)
            return exchange.present()
        finally:
            exchange.close()
