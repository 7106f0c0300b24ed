"""Sites come late, leave, return, are slow, join and are revoked; the others go on, and the record has it all."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from surefed.core import IdentityError
from surefed.peer import CharterFile, Peer, Stopped
from surefed.peer.charter import Charter, admit, propose, sign_charter, write_charter
from surefed.peer.identity import Authority
from surefed.peer.identity.keys import load_signing
from surefed.peer.node import KEEP, Round
from surefed.peer.transport import MemoryTransport, Network
from surefed.records import read
from tests.peer.federations import Trial, part, peer, peers, run_all, trial

RULE = {"rule": {"name": "bayp2pfl"}}


def lines(made: Trial, site: str) -> list[dict[str, Any]]:
    return read(made.folder / site / "record").rounds


def verdicts(made: Trial, site: str, of: str) -> dict[int, str]:
    return {line["round"]: line["neighbours"][of]["verdict"] for line in lines(made, site) if of in line["neighbours"]}


def kinds(made: Trial, site: str) -> list[str]:
    text = (made.folder / site / "record" / "events.jsonl").read_text()
    return [json.loads(line)["kind"] for line in text.splitlines()]


class Background:
    """Peers that run on threads; `join` raises what went wrong."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self.failed: list[BaseException] = []

    def start(self, one: Peer) -> Peer:
        def work() -> None:
            try:
                one.run()
            except BaseException as error:
                self.failed.append(error)

        thread = threading.Thread(target=work)
        self._threads.append(thread)
        thread.start()
        return one

    def join(self) -> None:
        for thread in self._threads:
            thread.join()


def at_round(number: int) -> tuple[threading.Event, Any]:
    """An event that is set once a round is done, and the watcher that sets it."""
    reached = threading.Event()

    def watch(done: Round) -> None:
        if done.round >= number:
            reached.set()

    return reached, watch


def test_a_site_that_comes_late_catches_up(tmp_path: Path) -> None:
    made, network, running = trial(tmp_path, rounds=40, deadline=0.3, **RULE), Network(), Background()
    reached, watch = at_round(KEEP + 6)
    running.start(peer(made, network, "anna", watch=lambda done: (watch(done), time.sleep(0.02))))
    running.start(peer(made, network, "bert"))
    reached.wait()
    late = running.start(peer(made, network, "cleo"))
    running.join()
    assert not running.failed
    assert late.lone.round == 40
    assert "jumped" in kinds(made, "cleo")
    seen = verdicts(made, "anna", of="cleo")
    assert seen[1] == "missing"
    assert seen[40] == "trusted"
    numbers = [line["round"] for line in lines(made, "cleo")]
    assert numbers == sorted(set(numbers))
    assert sum(line["jumped"] for line in lines(made, "cleo")) == 40 - len(numbers)


def test_a_site_may_leave_and_return(tmp_path: Path) -> None:
    made, network, running = trial(tmp_path, rounds=36, deadline=0.3, **RULE), Network(), Background()
    gone, watch = at_round(16)
    first = peer(made, network, "cleo")
    first._watch = lambda done: first.stop() if done.round == 4 else None
    slow = peer(made, network, "anna", watch=lambda done: (watch(done), time.sleep(0.01)))
    running.start(slow)
    running.start(peer(made, network, "bert"))
    running.start(first)
    gone.wait()
    assert [type(one) for one in running.failed] == [Stopped]
    running.start(peer(made, network, "cleo"))
    running.join()
    assert len(running.failed) == 1
    seen = verdicts(made, "anna", of="cleo")
    assert seen[4] == "trusted"
    assert seen[16] == "missing"
    assert seen[36] == "trusted"
    assert [kind for kind in kinds(made, "cleo") if kind not in ("silent", "refused")] == [
        "started",
        "stopped",
        "resumed",
        "jumped",
        "finished",
    ]


def test_a_belief_is_used_within_the_staleness(tmp_path: Path) -> None:
    made = trial(tmp_path, rounds=8, deadline=0.3, staleness=4, **RULE)
    network = Network()
    everybody = peers(made, network)
    learn = everybody["cleo"].lone.learn

    def slowly() -> Any:
        time.sleep(0.6)  # two deadlines
        return learn()

    everybody["cleo"].lone.learn = slowly  # type: ignore[method-assign]
    run_all(everybody)
    used = [
        (line["round"], line["neighbours"]["cleo"]["round"])
        for line in lines(made, "anna")
        if line["neighbours"]["cleo"]["round"] is not None
    ]
    assert any(of != number for number, of in used)
    assert all(abs(of - number) <= 4 for number, of in used)


def amended(made: Trial, charter: Charter, *signers: str) -> Charter:
    for site in signers:
        charter = sign_charter(charter, site, [load_signing(made.folder / site / f"{site}.sign.key")])
    return charter


def from_file(made: Trial, network: Network, site: str, **options: Any) -> Peer:
    """A peer that looks at its charter file every round."""
    folder = made.folder / site
    data = options.pop("data", None) or made.data(site)
    return Peer(
        CharterFile(folder / "federation.charter"),
        made.identity(site),
        data,
        MemoryTransport(site, network),
        folder / "record",
        **options,
    )


def test_a_site_is_added_by_an_amendment_while_the_others_run(tmp_path: Path) -> None:
    made, network, running = trial(tmp_path, rounds=36, deadline=0.5, approvals=2, **RULE), Network(), Background()
    reached, watch = at_round(5)
    for site in made.sites:
        slow = watch if site == "anna" else None
        running.start(
            from_file(made, network, site, watch=lambda done, tell=slow: (tell and tell(done), time.sleep(0.03)))
        )
    reached.wait()
    new = admit(Authority(made.folder / "authority"), "dora", made.folder / "dora")
    longer = propose(made.charter, "add", "dora", signing=new.signing, certificate=new.fingerprint)
    longer = amended(made, longer, "anna", "bert", "dora")
    assert longer.amendment == 1
    write_charter(made.folder / "dora" / "federation.charter", longer)
    write_charter(made.folder / "anna" / "federation.charter", longer)  # the others hear of it from their neighbours
    dora = part(trial(tmp_path / "other", sites=4).whole, "dora")
    running.start(from_file(made, network, "dora", data=dora))
    running.join()
    assert not running.failed
    assert verdicts(made, "anna", of="dora")[36] == "trusted"
    assert verdicts(made, "cleo", of="dora")[36] == "trusted"
    assert "amended" in kinds(made, "cleo")


def test_a_site_that_is_revoked_stops_and_is_heard_no_more(tmp_path: Path) -> None:
    made, network, running = trial(tmp_path, rounds=30, deadline=0.5, approvals=2, **RULE), Network(), Background()
    reached, watch = at_round(5)
    for site in made.sites:
        slow = watch if site == "anna" else None
        running.start(
            from_file(made, network, site, watch=lambda done, tell=slow: (tell and tell(done), time.sleep(0.03)))
        )
    reached.wait()
    shorter = amended(made, propose(made.charter, "revoke", "cleo"), "anna", "bert")
    for site in made.sites:
        write_charter(made.folder / site / "federation.charter", shorter)
    running.join()
    assert [type(one) for one in running.failed] == [IdentityError]
    seen = verdicts(made, "anna", of="cleo")
    assert seen[1] == "trusted"
    assert seen[30] == "not expected"


def test_another_model_than_the_charters_is_refused(tmp_path: Path) -> None:
    made = trial(tmp_path)
    other = made.charter.model_copy(update={"model_digest": "0" * 32})
    with pytest.raises(IdentityError, match="not the charter's"):
        Peer(other, made.identity("anna"), made.data("anna"), MemoryTransport("anna", Network()), tmp_path / "record")
