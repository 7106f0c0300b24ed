"""Beliefs pass over long, slow and lossy lines, and a round costs hardly more bytes than the beliefs in it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from surefed.peer.charter import Draft, trial_federation
from tests.peer.exchange.link import HOSTS, Line, linked
from tests.peer.made import TERMS

PORT = 7447
NAMESPACES = shutil.which("ip") is not None and shutil.which("unshare") is not None and os.geteuid() == 0


def across(folder: Path, kind: str, line: Line, weights: int, seconds: float) -> list[dict[str, Any]]:
    """Two sites, a process each, at the two ends of a line; what both say."""
    sites = ["north", "gulf"]
    trial_federation(folder, Draft.of(TERMS | {"members": sites}), hosts=HOSTS)
    addresses = {site: f"{host}:{PORT}" for site, host in zip(sites, HOSTS, strict=True)}
    with contextlib.ExitStack() as stack:
        try:
            names = stack.enter_context(linked(line))
        except OSError as error:
            pytest.skip(f"network namespaces with tun devices are not permitted here: {error}")
        running = []
        for name, site in zip(names, sites, strict=True):
            told = [kind, str(folder), site, json.dumps(addresses), str(weights), str(seconds)]
            command = ["ip", "netns", "exec", name, sys.executable, "-m", "tests.peer.exchange.far", *told]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.callback(process.communicate)
            stack.callback(process.kill)
            running.append(process)
        said = [json.loads(process.stdout.readline()) for process in running if process.stdout is not None]
        for process in running:
            process.communicate()
            assert process.returncode == 0
    return said


@pytest.mark.skipif(not NAMESPACES, reason="needs root, ip and unshare, to make network namespaces")
@pytest.mark.parametrize("kind", ["grpc", "zenoh"])
def test_a_belief_passes_over_a_lossy_line(tmp_path: Path, kind: str) -> None:
    """1.6 MB each way, 5 MB/s, 100 ms there and back, every 500th packet lost."""
    for said in across(tmp_path, kind, Line(rate=5e6, delay=0.05, loss=0.002), weights=200_000, seconds=120):
        assert said["whole"], said
        assert said["refused"] == {}


@pytest.mark.soak
@pytest.mark.skipif(not NAMESPACES, reason="needs root, ip and unshare, to make network namespaces")
@pytest.mark.parametrize("kind", ["grpc", "zenoh"])
def test_a_hundred_megabytes_pass_over_a_slow_line(tmp_path: Path, kind: str) -> None:
    """100 MB each way, 5 MB/s, 100 ms there and back, every 10 000th packet lost."""
    line = Line(rate=5e6, delay=0.05, loss=0.0001)
    for said in across(tmp_path, kind, line, weights=12_500_000, seconds=900):
        print(kind, said)
        assert said["whole"], said
        assert said["refused"] == {}


@pytest.mark.skipif(not NAMESPACES, reason="needs root, ip and unshare, to make network namespaces")
@pytest.mark.parametrize("kind", ["grpc", "zenoh"])
def test_a_round_costs_at_most_two_percent_more_than_its_beliefs(kind: str) -> None:
    """800 kB a belief, over a loopback of their own: TLS, framing, TCP/IP headers, manifests and requests included."""
    command = ["unshare", "--net", sys.executable, "-m", "tests.peer.exchange.cost", kind, "100000", "5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode and "unshare" in done.stderr:
        pytest.skip(f"network namespaces are not permitted here: {done.stderr.strip()}")
    figures = json.loads(done.stdout)
    assert figures["payload"] == 800_000
    assert 0 < figures["over"] < 0.02
