"""A site inside a program of your own: your model, your data, your transport, and a word after every round.

Here three sites share one process and a network in memory. On a real site there is one `Peer`, made by
`open_peer(Settings.read("peer.toml"), data=..., watch=...)`.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from torch import nn

from surefed import Dataset
from surefed.peer import Peer, Round, load_identity
from surefed.peer.charter import Draft, trial_federation
from surefed.peer.data import alone
from surefed.peer.transport import MemoryTransport, Network

SITES = ("north", "south", "east")


def network(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Your own model, named in the charter as `module:function`."""
    return nn.Sequential(nn.Linear(shape[0], 16), nn.Tanh(), nn.Linear(16, classes))


def samples(site: str) -> Dataset:
    """Your own data, which stays where it is: here, two clouds of points."""
    rng = np.random.default_rng(SITES.index(site))
    labels = rng.integers(0, 2, 200)
    inputs = rng.normal(size=(200, 2)) + 2.0 * labels[:, None]
    return Dataset(inputs=inputs.astype(np.float32), labels=labels, classes=2)


def tell(done: Round) -> None:
    """Called after every round."""
    if done.round == done.rounds:
        trusted = [site for site, one in done.verdicts.items() if one.verdict == "trusted"]
        print(f"accuracy {done.line['accuracy']['mean']:.1%}, trusts {', '.join(trusted)}")


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder, wire = Path(scratch), Network()
        draft = {"name": "embedded", "members": SITES, "shape": [2], "classes": 2, "rounds": 30}
        charter = trial_federation(folder, Draft.of(draft | {"model": {"name": f"{__name__}:network"}}))
        peers = [
            Peer(
                charter,
                load_identity(site, folder / site),
                alone(samples(site), charter, site, held_out=0.2),
                MemoryTransport(site, wire),
                folder / site / "record",
                watch=tell,
            )
            for site in SITES
        ]
        with ThreadPoolExecutor(len(peers)) as pool:
            for running in [pool.submit(peer.run) for peer in peers]:
                running.result()
        print(f"{peers[0].belief.mean.numel()} weights, the first {peers[0].belief.mean[0]:+.3f}")


if __name__ == "__main__":
    main()
