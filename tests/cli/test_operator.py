"""The operator's guide, step by step: from no keys at all to a federation of two sites that has run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from surefed.cli.commands import app
from surefed.peer import Settings, open_peer
from surefed.peer.attempt import free_ports
from surefed.peer.doctor import examine
from surefed.records import read

TERMS = """
name = "two"
members = ["north", "south"]
shape = [4]
classes = 3
rounds = 3
[learn]
batches = 2
[rule]
name = "bayp2pfl"
"""


def use(*words: str) -> None:
    with pytest.raises(SystemExit) as end:
        app([str(word) for word in words], prog_name="surefed")
    assert not end.value.code


def test_from_no_keys_to_a_federation_that_has_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    use("keys", "authority", "authority")
    ports, rng = dict(zip(("north", "south"), free_ports(2), strict=True)), np.random.default_rng(0)
    for site in ports:
        use("keys", "new", site, "--dir", f"{site}/keys", "--host", "127.0.0.1")
        use("keys", "approve", f"{site}/keys/{site}.request")
        use("keys", "install", f"authority/{site}.pem", "--ca", "authority/ca.pem", "--dir", f"{site}/keys")
    Path("federation.toml").write_text(TERMS)
    use("federation", "new", "federation.toml")
    for site in ports:
        use("federation", "sign", "federation.charter", "--as", site, "--dir", f"{site}/keys", "--yes")
    use("federation", "verify", "federation.charter")
    for site, other in (("north", "south"), ("south", "north")):
        Path(site, "federation.charter").write_bytes(Path("federation.charter").read_bytes())
        np.savez(Path(site, "data.npz"), inputs=rng.random((30, 4)), labels=rng.integers(0, 3, 30))
        Path(site, "peer.toml").write_text(
            f'site = "{site}"\n[data]\npath = "data.npz"\n[network]\ntransport = "grpc"\n'
            f'listen = "127.0.0.1:{ports[site]}"\naddresses = {{ {other} = "127.0.0.1:{ports[other]}" }}\n'
        )
    found = list(examine(Path("north/peer.toml"), wait=0.1))
    assert [one.check for one in found if one.result == "FAIL"] == ["neighbour"]  # south is not running yet
    peers = [open_peer(Settings.read(f"{site}/peer.toml")) for site in ports]
    with ThreadPoolExecutor(2) as pool:
        for running in [pool.submit(peer.run) for peer in peers]:
            running.result()
    for site, other in (("north", "south"), ("south", "north")):
        last = read(Path(site) / "record").last
        assert last["round"] == 3
        assert last["neighbours"][other]["verdict"] == "trusted"
