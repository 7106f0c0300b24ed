"""Over real sockets with mutual TLS the beliefs are the simulator's, too; in one process, and in one for each site."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open
from torch import Tensor

from surefed.peer import CharterFile, Identity, Peer, Settings, Stopped
from surefed.peer.attempt import Attempt, free_ports, predict, prepare, processes
from surefed.peer.charter import admit
from surefed.peer.identity import Authority
from surefed.peer.opening import transport
from surefed.peer.settings import Kind
from surefed.peer.transport.relay import Relay
from surefed.peer.transport.tls import Credentials
from surefed.records import read
from surefed.sim.engine import social
from tests.peer.federations import Trial, run_all, trial

KINDS: list[Kind] = ["zenoh", "grpc"]


def over(made: Trial, networks: Mapping[str, dict[str, Any]]) -> dict[str, Peer]:
    """A peer for every site, over the network that its settings name."""
    everybody = {}
    for site, network in networks.items():
        settings, identity = Settings(site=site, network=network), made.identity(site)
        carried = transport(settings, made.charter, identity)
        everybody[site] = Peer(made.charter, identity, made.data(site), carried, made.folder / site / "record")
    return everybody


def dialling(made: Trial, kind: Kind) -> dict[str, dict[str, Any]]:
    """Settings with which everybody listens and dials everybody."""
    ports = free_ports(len(made.sites))
    at = {site: f"127.0.0.1:{port}" for site, port in zip(made.sites, ports, strict=True)}
    return {
        site: {"transport": kind, "listen": at[site], "addresses": {name: at[name] for name in at if name != site}}
        for site in made.sites
    }


def ends_as_simulated(made: Trial, everybody: Mapping[str, Peer]) -> None:
    predicted = social(*made.simulated())
    for at, one in enumerate(everybody.values()):
        assert (one.belief.mean - predicted.mean[at]).abs().max() <= 1e-5
        assert (one.belief.rho - predicted.rho[at]).abs().max() <= 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_peers_over_tls_end_with_the_simulators_beliefs(tmp_path: Path, kind: Kind) -> None:
    made = trial(tmp_path, rounds=4)
    everybody = over(made, dialling(made, kind))
    run_all(everybody)
    ends_as_simulated(made, everybody)


def test_sites_that_can_only_dial_out_meet_at_a_relay(tmp_path: Path) -> None:
    made = trial(tmp_path, rounds=4)
    admit(Authority(tmp_path / "authority"), "hub", tmp_path / "hub")
    files = Credentials(tmp_path / "hub" / "ca.pem", tmp_path / "hub" / "hub.pem", tmp_path / "hub" / "hub.key")
    at = f"127.0.0.1:{free_ports(1)[0]}"
    relay = Relay("hub", listen=at, charter=CharterFile(tmp_path / "federation.charter"), tls=files)
    relay.open()
    try:
        everybody = over(made, {site: {"relay": at} for site in made.sites})
        run_all(everybody)
    finally:
        relay.close()
    ends_as_simulated(made, everybody)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_that_expires_in_the_middle_stops_nobody(
    tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    def briefly(authority: Authority, site: str, folder: Path, hosts: tuple[str, ...]) -> Identity:
        days: Any = 20 / 86400 if site == "cleo" else 365
        return admit(authority, site, folder, hosts, days)

    monkeypatch.setattr("surefed.peer.charter.trial.admit", briefly)
    made = trial(tmp_path, rounds=10**6, deadline=1.0, rule={"name": "bayp2pfl"})
    everybody = over(made, dialling(made, kind))
    anna, expires = everybody["anna"], everybody["cleo"].identity.facts.expires
    anna._watch = lambda done: (
        [one.stop() for one in everybody.values()] if datetime.now(UTC) > expires + timedelta(seconds=15) else None
    )
    with pytest.raises(Stopped):
        run_all(everybody)
    lines = read(tmp_path / "anna" / "record").rounds
    of_cleo = [line["neighbours"]["cleo"]["verdict"] for line in lines]
    assert "trusted" in of_cleo
    if kind == "zenoh":  # which closes a link when its certificate expires; gRPC only refuses new ones
        assert of_cleo[-1] == "missing"
    of_bert = [line["neighbours"]["bert"]["verdict"] for line in lines]
    assert of_bert.count("trusted") > 0.9 * len(of_bert)  # a busy machine may miss a deadline of a second
    told = (tmp_path / "cleo" / "record" / "events.jsonl").read_text()
    assert "has expired" in told


def final_beliefs(attempt: Attempt, site: str) -> tuple[Tensor, Tensor]:
    with safe_open(attempt.record(site) / "state.safetensors", framework="pt") as file:
        return file.get_tensor("mean")[0], file.get_tensor("rho")[0]


def played(attempt: Attempt) -> None:
    with processes(attempt) as running:
        for site, one in running.items():
            assert one.wait(300) == 0, (attempt.folder / site / "log.txt").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_eight_processes_over_tls_end_with_the_simulators_beliefs(tmp_path: Path, kind: Kind) -> None:
    attempt = prepare(tmp_path, sites=8, malicious=0, rounds=10, transport=kind)
    played(attempt)
    predicted = predict(attempt).beliefs
    for at, site in enumerate(attempt.charter.sites):
        mean, rho = final_beliefs(attempt, site)
        assert (mean - predicted.mean[at]).abs().max() <= 1e-5
        assert (rho - predicted.rho[at]).abs().max() <= 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("attack", ["label_flip", "sign_flip", "alie"])
def test_three_of_eight_processes_lie_and_the_honest_end_as_predicted(tmp_path: Path, attack: str) -> None:
    attempt = prepare(tmp_path, sites=8, malicious=3, rounds=15, attack=attack)
    played(attempt)
    prediction = predict(attempt)
    for at, site in enumerate(attempt.charter.sites[:5]):
        mean, _ = final_beliefs(attempt, site)
        assert (mean - prediction.beliefs.mean[at]).abs().max() <= 1e-5
        last = read(attempt.record(site)).last
        assert last["accuracy"]["mean"] == pytest.approx(prediction.accuracy[site], abs=1e-6)
        trusts = [name for name, one in last["neighbours"].items() if one["verdict"] == "trusted"]
        assert trusts == prediction.trusts[site]
