"""The doctor names what is wrong and how to put it right, and finds nothing wrong where nothing is."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from surefed.peer import Peer, Stopped, open_peer
from surefed.peer.attempt import Attempt, prepare
from surefed.peer.doctor import Finding, examine
from surefed.peer.settings import Kind, Settings


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    return prepare(tmp_path, sites=2, malicious=0, rounds=2)


def settings(attempt: Attempt, site: str = "site1") -> Path:
    return attempt.folder / site / "peer.toml"


def failed(attempt: Attempt) -> list[Finding]:
    return [one for one in examine(settings(attempt), wait=0.2) if one.result == "FAIL"]


@pytest.mark.parametrize("kind", ["zenoh", "grpc"])
def test_nothing_is_wrong_with_a_federation_that_runs(tmp_path: Path, kind: Kind) -> None:
    attempt = prepare(tmp_path, sites=2, malicious=0, rounds=10**6, transport=kind)
    other = open_peer(Settings.read(settings(attempt, "site2")))
    running = threading.Thread(target=_until_stopped, args=(other,))
    running.start()
    try:
        for _ in range(50):
            found = list(examine(settings(attempt), wait=5.0))
            if all(one.result == "PASS" for one in found):
                break
        assert [one for one in found if one.result != "PASS"] == []
        checks = {one.check for one in found}
        assert checks >= {"settings", "charter", "keys", "membership", "certificate", "clock", "data", "model"}
        assert checks >= {"disk", "port", "dry round", "neighbour"}
    finally:
        other.stop()
        running.join()


def _until_stopped(peer: Peer) -> None:
    with pytest.raises(Stopped):
        peer.run()


def test_a_neighbour_that_is_not_there_is_named(attempt: Attempt) -> None:
    found = failed(attempt)
    assert [one.check for one in found] == ["neighbour"]
    assert "nobody listens there" in found[0].text
    assert found[0].fix


def test_a_key_that_others_may_read(attempt: Attempt) -> None:
    (attempt.folder / "site1" / "site1.key").chmod(0o644)
    (found,) = failed(attempt)
    assert found.check == "keys"
    assert "chmod 600" in found.text + found.fix
    assert found.exit_code == 6


def test_another_sites_certificate(attempt: Attempt) -> None:
    folder = attempt.folder
    (folder / "site1" / "site1.pem").write_bytes((folder / "site2" / "site2.pem").read_bytes())
    (found,) = failed(attempt)
    assert found.check == "keys"
    assert "site2" in found.text


def test_data_of_another_shape(attempt: Attempt) -> None:
    np.savez(attempt.folder / "site1" / "data.npz", inputs=np.zeros((20, 3)), labels=np.zeros(20))
    (found,) = failed(attempt)
    assert found.check == "data"
    assert "charter says" in found.text
    assert found.exit_code == 3


def test_a_port_that_is_taken(attempt: Attempt) -> None:
    host, port = Settings.read(settings(attempt)).network.listen.split(":")  # type: ignore[union-attr]
    with socket.socket() as holder:
        holder.bind((host, int(port)))
        holder.listen()
        assert "port" in [one.check for one in failed(attempt)]


def test_too_little_disk(attempt: Attempt) -> None:
    text = settings(attempt).read_text().replace("least_disk = 16", f"least_disk = {2**40}")
    settings(attempt).write_text(text)
    assert "disk" in [one.check for one in failed(attempt)]


def test_an_altered_charter(attempt: Attempt) -> None:
    path = attempt.folder / "site1" / "federation.charter"
    path.write_text(path.read_text().replace('"rounds": 2', '"rounds": 3'))
    (found,) = failed(attempt)
    assert found.check == "charter"


def test_a_neighbour_with_a_certificate_of_another_federation(attempt: Attempt, tmp_path: Path) -> None:
    stranger = prepare(tmp_path / "other", sites=2, malicious=0, rounds=10**6)
    there = Settings.read(settings(stranger, "site2")).network.listen
    here = Settings.read(settings(attempt)).network.addresses["site2"]
    assert there is not None
    settings(attempt).write_text(settings(attempt).read_text().replace(here, there))
    other = open_peer(Settings.read(settings(stranger, "site2")))
    running = threading.Thread(target=_until_stopped, args=(other,))
    running.start()
    try:
        found: list[Finding] = []
        for _ in range(50):
            found = failed(attempt)
            if "nobody listens" not in found[0].text:
                break
        assert [one.check for one in found] == ["neighbour"]
        assert "certificate is refused" in found[0].text
    finally:
        other.stop()
        running.join()


@pytest.fixture(autouse=True)
def _no_thread_is_left_behind() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = [one for one in threading.enumerate() if one not in before and not one.daemon]
    assert left == []
