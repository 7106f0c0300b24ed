"""A malicious member of a federation, with any attack of the library; for trials of your own.

    surefed peer try --malicious 0 --rounds 40 --out runs/mine      # makes keys, charter, data and settings
    python examples/peer/malicious.py runs/mine site5 alie          # and this is site5, lying

The second command takes a folder that `surefed peer try` made and runs one of its sites as a liar who knows everything:
it reads everybody's data, which no real attacker could, and plays the whole federation beside the real one.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import torch

from surefed.data import Federation
from surefed.peer import Settings, open_peer, own_data, read_charter
from surefed.peer.liar import conspiracy
from surefed.peer.lone import experiment
from surefed.sim import Experiment


def everybody(folder: Path) -> Federation:
    """The data of all sites, put together from their folders."""
    charter = read_charter(folder / "federation.charter")
    parts = [own_data(Settings.read(folder / site / "peer.toml").data, charter, site) for site in charter.sites]
    return replace(
        parts[0],
        inputs=torch.cat([part.inputs for part in parts]),
        labels=torch.cat([part.labels for part in parts]),
        sizes=torch.cat([part.sizes for part in parts]),
        ids=charter.sites,
    )


def main(folder: Path, site: str, attack: str) -> None:
    settings = Settings.read(folder / site / "peer.toml")
    said = experiment(read_charter(settings.charter)).model_dump(exclude_unset=True)
    plan = Experiment.of(said | {"attack": {"name": attack, "clients": [site]}})
    poisoned, send = conspiracy(plan, everybody(folder), site)
    open_peer(settings, data=poisoned, send=send, watch=lambda done: print(f"lied in round {done.round}")).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
