"""Play an experiment from its first round, or its last checkpoint, to its end, and leave a record."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import torch
from torch import Tensor, nn

from surefed.core import Belief
from surefed.data import Federation
from surefed.graphs import Graph
from surefed.records import Record, read
from surefed.sim.assemble import assemble
from surefed.sim.engine import social
from surefed.sim.experiment import Experiment
from surefed.sim.play import Watcher, opened, stop_signals, threads
from surefed.sim.setup import Setup


@dataclass(frozen=True)
class Run:
    """What a run gave: its record on disk, and everybody's belief.

    beliefs: the social belief of every client. [client, weight]
    statistics: every client's own running statistics, where the network has BatchNorm. [client, number]
    """

    record: Record
    beliefs: Belief
    setup: Setup
    statistics: Tensor

    @property
    def folder(self) -> Path:
        """Where the record is."""
        return self.record.path

    @property
    def accuracy(self) -> float:
        """Mean test accuracy of the honest clients after the last round; where labels are numbers there is none."""
        if "accuracy" not in self.record.last:
            raise AttributeError("labels are numbers here, so there is no accuracy; run.record.last has rmse and r2")
        return float(self.record.last["accuracy"]["mean"])

    def model(self, client: int | str) -> nn.Module:
        """A copy of the network, ready to predict, with this client's posterior mean as its weights.

        A client is its number or its id.
        """
        ids = self.setup.clean.ids
        at = client if isinstance(client, int) else ids.index(client) if client in ids else -1
        if not 0 <= at < len(ids):
            raise KeyError(f"there is no client {client!r}; there are {len(ids)}, {ids[0]!r} to {ids[-1]!r}")
        network = self.setup.network
        module = copy.deepcopy(network.module).eval()
        kept = dict(module.named_buffers())
        with torch.no_grad():
            for parameter, part in zip(module.parameters(), network.split(self.beliefs.mean[at : at + 1]), strict=True):
                parameter.copy_(part[0])
            for name, part in zip(network.buffer_names, self.statistics[at].split(network.buffer_sizes), strict=True):
                kept[name].copy_(part.view_as(kept[name]))
        return module


def run(
    experiment: Experiment,
    *,
    out: Path | str | None = None,
    resume: bool = False,
    data: Federation | None = None,
    model: nn.Module | None = None,
    graph: Graph | nx.Graph | None = None,
    device: torch.device | str = "cpu",
    watch: Watcher | None = None,
) -> Run:
    """Play an experiment and record it.

    Args:
        experiment: all that decides the run.
        out: the folder of the record; default: runs/ and a name made from the experiment.
        resume: go on from the folder's checkpoint; without it, an unfinished run in the folder is an error.
        data, model, graph: given in Python instead of named in the experiment.
        device: "cpu", "cuda", ...
        watch: called after every round.

    A finished run of the same experiment is read, not computed again. Ctrl-C and SIGTERM end the run after the
    current round, with a checkpoint.
    """
    setup = assemble(experiment, data=data, model=model, graph=graph, device=device)
    folder = Path(out) if out is not None else Path("runs") / default_name(setup)
    with opened(folder, setup, resume=resume, watch=watch) as play:
        world = play.world
        if not play.finished:
            with threads(world), stop_signals() as stopped:
                while play.left:
                    play.step(stopped)
            play.finish()
    return Run(read(folder), social(setup, world), setup, world.rows.buffers[: setup.clients])


def default_name(setup: Setup) -> str:
    """A folder name that people can read and that differs between experiments."""
    given = setup.experiment
    words = re.sub(r"[^\w.]+", "-", f"{given.name}-{given.rule.name}-{given.attack.name}")
    return f"{words.strip('-.')[:60]}-{setup.identity[:8]}"
