"""A whole federation on one machine: a real process for every site, real keys, real TLS, real sockets, embedded data.

Some of the sites may be malicious. The simulator plays the same federation beside it, so that its prediction can be
held against what the processes did.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from surefed.attacks import ATTACKS
from surefed.core import Belief, ConfigError
from surefed.core.registry import find
from surefed.data import Federation
from surefed.peer.charter import Charter, Draft, trial_federation
from surefed.peer.lone import experiment
from surefed.peer.record import STATUS
from surefed.peer.settings import Kind
from surefed.records import write_text
from surefed.sim import toml
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round, predictions, social
from surefed.sim.experiment import Experiment
from surefed.sim.resolve import GIVEN

HOST = "127.0.0.1"
TERMS: dict[str, Any] = {
    "shape": [1, 8, 8],
    "classes": 10,
    "deadline": 60.0,
    "learn": {"batches": 20, "batch_size": 10, "learning_rate": 0.003},
    "rule": {"name": "surefed"},
}
"""What the founders of a trial agree on."""


@dataclass(frozen=True)
class Attempt:
    """A federation that is ready to be started.

    plan: the same federation for the simulator, attack included. whole: everybody's data.
    """

    folder: Path
    charter: Charter
    plan: Experiment
    whole: Federation
    malicious: tuple[str, ...]
    transport: Kind

    def record(self, site: str) -> Path:
        """Where a site's record is."""
        return self.folder / site / "record"

    def status(self, site: str) -> dict[str, Any] | None:
        """What a site is doing now; None before it has said anything."""
        try:
            said: dict[str, Any] = json.loads((self.record(site) / STATUS).read_text())
        except (OSError, ValueError):
            return None
        return said


@dataclass(frozen=True)
class Prediction:
    """What the simulator says of the same federation. accuracy, trusts: by site."""

    beliefs: Belief
    accuracy: dict[str, float]
    trusts: dict[str, list[str]] = field(default_factory=dict)


def prepare(
    folder: Path,
    *,
    sites: int = 5,
    malicious: int = 2,
    rounds: int = 80,
    transport: Kind = "zenoh",
    attack: str = "label_flip",
    seed: int = 0,
    terms: dict[str, Any] | None = None,
) -> Attempt:
    """Make keys, charter, data and settings of every site below a folder; the last sites are the malicious ones."""
    if not 0 <= malicious < sites:
        raise ConfigError(f"{malicious} of {sites} sites cannot be malicious; at least one must be honest")
    find(attack, ATTACKS, "attack")
    names = tuple(f"site{at + 1}" for at in range(sites))
    said = {"name": "try", "members": list(names), "rounds": rounds, "seed": seed, **TERMS, **(terms or {})}
    charter = trial_federation(folder, Draft.of(said), hosts=("localhost", HOST))
    dealt = assemble(Experiment.of({"seed": seed, "data": {"name": "digits", "clients": sites}})).clean
    whole = replace(dealt, ids=names)
    liars = names[sites - malicious :]
    lies = {"attack": {"name": attack, "clients": list(liars)}} if liars else {}
    plan = Experiment.of(experiment(charter).model_dump(exclude_unset=True) | lies | {"data": {"name": GIVEN}})
    made = Attempt(folder, charter, plan, whole, liars, transport)
    ports = dict(zip(names, free_ports(sites), strict=True))
    for site in names:
        _write_site(made, site, ports)
    return made


@contextmanager
def processes(attempt: Attempt) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Start a process for every site; whatever happens, none of them is left behind."""
    with ExitStack() as stack:
        running: dict[str, subprocess.Popen[bytes]] = {}
        stack.callback(_end, running)
        for site in attempt.charter.sites:
            running[site] = start(attempt, site)
        yield running


def start(attempt: Attempt, site: str) -> subprocess.Popen[bytes]:
    """One site's process; what it says goes into its log."""
    folder = attempt.folder / site
    command = [sys.executable, "-m", "surefed", "peer", "run", str(folder / "peer.toml"), "--format", "json"]
    if site in attempt.malicious:
        command = [sys.executable, "-m", "surefed.peer.liar", str(folder / "peer.toml"), str(folder / "plan.toml")]
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(  # noqa: S603, our own program
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for whoever started them
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )


def predict(attempt: Attempt) -> Prediction:
    """Play the same federation in the simulator."""
    setup = assemble(attempt.plan, data=attempt.whole)
    world = begin(setup)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for _ in range(attempt.plan.rounds):
            inspection = play_round(setup, world)
    finally:
        torch.set_num_threads(before)
    ids, predicted = setup.clean.ids, predictions(setup, world, "social", setup.clean.test_inputs)
    accuracy = setup.network.likelihood.figures(predicted, setup.clean.test_labels)["accuracy"].values.tolist()
    trusts = {
        name: [other for other, yes in zip(ids, row, strict=True) if yes and other != name]
        for name, row in zip(ids, inspection.trusted.tolist(), strict=True)
    }
    return Prediction(social(setup, world), dict(zip(ids, accuracy, strict=True)), trusts)


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in sockets]


def _write_site(attempt: Attempt, site: str, ports: dict[str, int]) -> None:
    """A site's own samples and settings; a malicious one also gets what it needs to know everything."""
    folder, whole = attempt.folder / site, attempt.whole
    at = whole.ids.index(site)
    _save(folder / "data.npz", whole, slice(at, at + 1))
    addresses = "\n".join(f'{name} = "{HOST}:{port}"' for name, port in ports.items() if name != site)
    write_text(
        folder / "peer.toml",
        f'site = "{site}"\nkeys = "."\nleast_disk = 16\n\n'
        f'[data]\nname = "npz"\npath = "data.npz"\n\n'
        f'[network]\ntransport = "{attempt.transport}"\nlisten = "{HOST}:{ports[site]}"\n\n'
        f"[network.addresses]\n{addresses}\n",
    )
    if site in attempt.malicious:
        write_text(folder / "plan.toml", toml.write(attempt.plan))
        _save(folder / "everything.npz", whole, slice(0, whole.clients))


def _save(path: Path, whole: Federation, clients: slice) -> None:
    """The samples of some sites, and the test set, as the dataset `npz` reads them."""
    starts, sizes = whole.starts.tolist(), whole.sizes.tolist()
    names = whole.ids[clients]
    rows = [slice(starts[at], starts[at] + sizes[at]) for at in range(whole.clients)][clients]
    owner = np.concatenate([np.full(row.stop - row.start, at) for at, row in enumerate(rows)])
    tests = len(whole.test_labels)
    np.savez(
        path,
        inputs=np.concatenate([*(whole.inputs[row].numpy() for row in rows), whole.test_inputs.numpy()]),
        labels=np.concatenate([*(whole.labels[row].numpy() for row in rows), whole.test_labels.numpy()]),
        owner=np.concatenate([owner, np.zeros(tests, dtype=owner.dtype)]),
        owners=np.array(names),
        classes=whole.classes,
        test=np.arange(len(owner) + tests) >= len(owner),
    )


def _end(running: dict[str, subprocess.Popen[bytes]]) -> None:
    """Ask every process to end, and end those that do not."""
    for one in running.values():
        if one.poll() is None:
            one.send_signal(signal.SIGCONT)
            one.terminate()
    until = time.monotonic() + 10
    for one in running.values():
        try:
            one.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()
