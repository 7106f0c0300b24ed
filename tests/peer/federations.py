"""Small federations for the tests of this folder: keys, charter and data of every site, and the simulator's answer."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surefed.data import Federation
from surefed.peer.charter import Charter, Draft, trial_federation
from surefed.peer.identity import Identity, load_identity
from surefed.peer.lone import experiment
from surefed.peer.node import Peer
from surefed.peer.transport import MemoryTransport, Network
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round
from surefed.sim.experiment import Experiment
from surefed.sim.setup import Setup
from surefed.sim.world import World

SITES = ("anna", "bert", "cleo", "dora", "egon", "fred", "gina", "hans")


@dataclass(frozen=True)
class Trial:
    """A federation in a folder.

    whole: everybody's data, as the simulator has it.
    """

    folder: Path
    charter: Charter
    whole: Federation

    @property
    def sites(self) -> tuple[str, ...]:
        return self.charter.sites

    def identity(self, site: str) -> Identity:
        return load_identity(site, self.folder / site)

    def data(self, site: str) -> Federation:
        return part(self.whole, site)

    def simulated(self, **attack: Any) -> tuple[Setup, World]:
        """The simulator's federation of the same charter, after its last round."""
        plan = experiment(self.charter)
        if attack:
            plan = Experiment.of({**plan.model_dump(exclude_unset=True), "attack": attack})
        setup = assemble(plan, data=self.whole)
        world = begin(setup)
        for _ in range(plan.rounds):
            play_round(setup, world)
        return setup, world


def trial(folder: Path, sites: int = 3, rounds: int = 3, **terms: Any) -> Trial:
    """A federation on the embedded digits, dealt out as the simulator would."""
    names = SITES[:sites]
    values = {
        "name": "trial",
        "members": list(names),
        "shape": [1, 8, 8],
        "classes": 10,
        "rounds": rounds,
        "deadline": 20.0,
    }
    values |= {"model": {"name": "mlp", "hidden": [16]}, "learn": {"learning_rate": 0.003}}
    charter = trial_federation(folder, Draft.of(values | terms))
    dealt = assemble(Experiment.of({"data": {"name": "digits", "clients": sites}})).clean
    return Trial(folder, charter, replace(dealt, ids=names))


def part(whole: Federation, site: str) -> Federation:
    """One site's share, with the common test set."""
    at = whole.ids.index(site)
    first = int(whole.starts[at])
    mine = slice(first, first + int(whole.sizes[at]))
    return replace(
        whole, inputs=whole.inputs[mine], labels=whole.labels[mine], sizes=whole.sizes[at : at + 1], ids=(site,)
    )


def peers(made: Trial, network: Network, **options: Any) -> dict[str, Peer]:
    """A peer for every site, all on one network in memory."""
    return {site: peer(made, network, site, **options) for site in made.sites}


def peer(made: Trial, network: Network, site: str, **options: Any) -> Peer:
    """One site's peer; its record is below its folder."""
    transport = MemoryTransport(site, network)
    data = options.pop("data", None) or made.data(site)
    return Peer(made.charter, made.identity(site), data, transport, made.folder / site / "record", **options)


def run_all(everybody: Mapping[str, Peer]) -> None:
    """Run peers side by side until all are done; the first error is raised."""
    with ThreadPoolExecutor(len(everybody)) as pool:
        for running in [pool.submit(one.run) for one in everybody.values()]:
            running.result()
