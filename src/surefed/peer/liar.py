"""A malicious peer, for trials: any attack of the library, told over the network by a certified member.

An attacker who knows everything is one who can compute it: it plays the whole federation beside the real one, with
everybody's data, and sends what its own client would send there. So the honest peers meet exactly the lies that the
simulator's clients meet. An attack on data alone needs none of that: its peer trains on poisoned samples.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from surefed.core import Belief, ConfigError
from surefed.data import Deal, Federation, federate, load
from surefed.peer.charter import Charter, read_charter
from surefed.peer.node import Send
from surefed.peer.opening import open_peer
from surefed.peer.settings import Settings
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, judge, speak
from surefed.sim.experiment import Experiment
from surefed.sim.setup import Setup


def conspiracy(plan: Experiment, everything: Federation, site: str) -> tuple[Federation, Send]:
    """What a malicious site trains on, and what it sends instead of what it learned.

    plan: the experiment of the charter, with the attack. everything: the data of all sites, by their names.
    """
    setup = assemble(plan, data=everything)
    at = setup.clean.ids.index(site)
    if not bool(setup.malicious[at]):
        raise ConfigError(f"{site} is honest in this experiment; name it in attack.clients")
    return _own(setup, at), _Shadow(setup, at) if setup.attack.tamper is not None else _as_learned


def _as_learned(number: int, belief: Belief) -> Belief:
    return belief


def _own(setup: Setup, at: int) -> Federation:
    """What the site trains on, poisoned where the attack poisons."""
    first, size = int(setup.clean.starts[at]), int(setup.clean.sizes[at])
    inputs, labels = setup.poisoned
    mine = slice(first, first + size)
    return replace(
        setup.clean,
        inputs=inputs[mine],
        labels=labels[mine],
        sizes=setup.clean.sizes[at : at + 1],
        ids=setup.clean.ids[at : at + 1],
    )


class _Shadow:
    """The whole federation, played beside the real one up to what goes out in a round."""

    def __init__(self, setup: Setup, at: int) -> None:
        self._setup, self._at, self._world = setup, at, begin(setup)

    def __call__(self, number: int, belief: Belief) -> Belief:
        """The lie of this round, counted from 1; rounds that were left out are played as well.

        A peer posts one belief to everybody, so whoever would whisper different ones sends the first.
        """
        while True:
            previous, sent = speak(self._setup, self._world)
            message = int((sent.sender == self._at).nonzero()[0])
            told = sent.belief[message].clone()
            judge(self._setup, self._world, previous, sent)
            if self._world.round >= number:
                return told


def everything(path: Path, charter: Charter) -> Federation:
    """The data of all sites from one .npz file: inputs, labels, owner, owners, and which samples are for testing."""
    data = load("npz", {"path": str(path)})
    assert data.owner is not None
    assert data.test is not None
    train = {name: np.flatnonzero((data.owner == at) & ~data.test) for at, name in enumerate(data.owners)}
    dealt = Deal("natural", "published", {site: train[site] for site in charter.sites}, np.flatnonzero(data.test))
    return replace(federate(data, dealt), classes=charter.classes)


def main(settings: Path, plan: Path) -> None:
    """Run a malicious peer: its settings, and beside them the whole experiment and everybody's data."""
    own = Settings.read(settings)
    charter = read_charter(own.charter)
    poisoned, send = conspiracy(Experiment.read(plan), everything(plan.with_name("everything.npz"), charter), own.site)
    open_peer(own, data=poisoned, send=send).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
