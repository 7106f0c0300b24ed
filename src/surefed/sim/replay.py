"""Rounds on a GPU: the first is played, the second captured as a CUDA graph, and from then on the graph is replayed.

A captured round reads its number and its edges from tensors, so the host has nothing to wait for and little to do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from surefed.core import cuda
from surefed.rules import Inspection
from surefed.sim.setup import Setup

LOG = logging.getLogger("surefed")


class Replay:
    """What a captured round reads and gives.

    on: whether `round` and `edges` stand for the world's now. round: int64 [1]. edges: bool [receiver, sender].
    """

    def __init__(self, setup: Setup, round: int) -> None:
        self.setup, self.attacking = setup, setup.attacking(round)
        self.on = False
        self.round = torch.full((1,), round, dtype=torch.int64, device=setup.device)
        self.edges = setup.edges(round).clone()
        self._from = setup.edges(round)
        self._graph: Any = None
        self._seen: Inspection | None = None
        self._played = self._fails = False

    @property
    def captured(self) -> bool:
        """Whether there is a graph, or rounds are played."""
        return self._graph is not None

    def serves(self, setup: Setup, round: int) -> bool:
        """Whether a round of this setup is the one that was captured."""
        return self.setup is setup and self.attacking == setup.attacking(round)

    def play(self, round: int, body: Callable[[], Inspection]) -> Inspection:
        """One round more: `body` itself the first time, or where it cannot be captured, else its graph."""
        self.round.fill_(round)
        edges = self.setup.edges(round)
        if edges is not self._from:
            self.edges.copy_(edges)
            self._from = edges
        if not self.captured and (not self._played or not self._capture(body)):
            self._played = True
            seen = self._with(body)
        else:
            self._graph.replay()
            assert self._seen is not None
            seen = self._seen
        return replace(seen, trusted=seen.trusted.clone())  # the next round writes over the graph's own

    def _with(self, body: Callable[[], Inspection]) -> Inspection:
        self.on = True
        try:
            return body()
        finally:
            self.on = False

    def _capture(self, body: Callable[[], Inspection]) -> bool:
        """Whether the body could be captured; somebody's own layers may do what no graph can hold."""
        if self._fails or self.setup.device.type != "cuda":
            return False
        graph = torch.cuda.CUDAGraph()
        now = torch.cuda.current_stream(self.setup.device)
        own = None if now == torch.cuda.default_stream(self.setup.device) else now  # libraries keep scratch by stream
        try:
            with torch.cuda.graph(graph, stream=own, capture_error_mode="thread_local"):
                self._seen = self._with(body)
        except RuntimeError as error:
            LOG.warning("rounds cannot be captured and are played one by one, which is slower: %s", error)
            self._fails = True
            return False
        self._graph = graph
        return True


def steady(setup: Setup, round: int) -> bool:
    """Whether rounds differ in nothing but their number, edges and what is learned, so that one can stand for all.

    Lies that depend on more than that are played round by round.
    """
    lying = setup.attack.tamper is not None and setup.attacking(round) and not setup.attack.steady
    return without_host(setup) and setup.rule.steady and not lying


def without_host(setup: Setup) -> bool:
    """Whether a GPU can learn and judge by itself: it has kernels, and the layers are known.

    Federations so large that the host's work does not matter are left to it.
    """
    return cuda.here(setup.sizes) and setup.clients**2 <= cuda.DENSE and setup.network.stacked
