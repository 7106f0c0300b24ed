"""Who hears whom, round by round."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import networkx as nx
import numpy as np
import torch
from torch import Tensor

from surefed.core import ConfigError, DataError
from surefed.core.registry import build, find
from surefed.core.streams import key

Integers = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


class Graph(Protocol):
    """Who hears whom. A client always hears itself."""

    @property
    def clients(self) -> int:
        """How many nodes there are."""

    def edges(self, round: int) -> Tensor:
        """bool [receiver, sender], True on the diagonal."""

    def fingerprint(self) -> str:
        """A digest of who hears whom in every round."""
        ...


class Neighbours(NamedTuple):
    """Who hears whom in one round, in memory proportional to its edges.

    Client i hears senders[starts[i] : starts[i + 1]], in ascending order and itself among them.
    starts: int64 [client + 1]; senders: int64 [edge].
    """

    starts: Tensor
    senders: Tensor

    @property
    def clients(self) -> int:
        """How many nodes there are."""
        return len(self.starts) - 1

    @property
    def receivers(self) -> Tensor:
        """Who hears, edge by edge. int64 [edge]"""
        return torch.arange(self.clients).repeat_interleave(self.starts.diff())

    def dense(self) -> Tensor:
        """bool [receiver, sender]"""
        edges = torch.zeros(self.clients, self.clients, dtype=torch.bool)
        edges[self.receivers, self.senders] = True
        return edges

    def only(self, kept: Flags) -> Neighbours:
        """Only the edges marked True, and everybody's own. kept: bool [edge]"""
        return heard(self.clients, self.receivers.numpy()[kept], self.senders.numpy()[kept])

    def digest(self) -> str:
        """Equal neighbours, equal digest."""
        return digest(self.starts.numpy().tobytes(), self.senders.numpy().tobytes())


def heard(clients: int, receivers: Integers, senders: Integers) -> Neighbours:
    """Neighbours from directed edges in any order, as often as they like; everybody's own edge is added."""
    own = np.arange(clients, dtype=np.int64) * (clients + 1)
    keys = np.unique(np.concatenate([receivers * clients + senders, own]))
    starts = np.searchsorted(keys, np.arange(clients + 1, dtype=np.int64) * clients)
    return Neighbours(torch.from_numpy(starts), torch.from_numpy(keys % clients))


def joined(clients: int, one: Integers, other: Integers) -> Neighbours:
    """Neighbours from undirected edges: each end hears the other."""
    return heard(clients, np.concatenate([one, other]), np.concatenate([other, one]))


def digest(*parts: bytes | str) -> str:
    """One digest of several things, each told from the next."""
    whole = hashlib.blake2b(digest_size=16)
    for part in parts:
        given = part.encode() if isinstance(part, str) else part
        whole.update(len(given).to_bytes(8, "little") + given)
    return whole.hexdigest()


def neighbours(graph: Graph, round: int) -> Neighbours:
    """Any graph's neighbours: its own sparse form where it has one, else read from its edges."""
    if hasattr(graph, "neighbours"):
        own: Neighbours = graph.neighbours(round)
        return own
    return _sparse(graph.edges(round))


def _sparse(edges: Tensor) -> Neighbours:
    whole = edges.cpu() | torch.eye(len(edges), dtype=torch.bool)
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), whole.sum(1).cumsum(0)])
    return Neighbours(starts, whole.nonzero()[:, 1].contiguous())


class Fixed:
    """The same neighbours in every round, from Neighbours or from a square bool matrix."""

    def __init__(self, edges: Tensor | Neighbours) -> None:
        self._dense: Tensor | None = None
        self._sparse: Neighbours | None = None
        if isinstance(edges, Neighbours):
            self._sparse = edges
            return
        if edges.dim() != 2 or edges.shape[0] != edges.shape[1] or edges.dtype != torch.bool:
            raise DataError(f"edges must be a square bool matrix, not {edges.dtype} of shape {tuple(edges.shape)}")
        self._dense = edges | torch.eye(len(edges), dtype=torch.bool, device=edges.device)

    @property
    def clients(self) -> int:
        """How many nodes there are."""
        return len(self._dense) if self._dense is not None else self.neighbours(0).clients

    def edges(self, round: int) -> Tensor:
        """bool [receiver, sender]"""
        if self._dense is None:
            self._dense = self.neighbours(0).dense()
        return self._dense

    def neighbours(self, round: int) -> Neighbours:
        """The same, in memory proportional to its edges."""
        if self._sparse is None:
            assert self._dense is not None
            self._sparse = _sparse(self._dense)
        return self._sparse

    def fingerprint(self) -> str:
        """A digest of who hears whom."""
        return self.neighbours(0).digest()


class Derived:
    """A graph made from another one, round by round: `make(its neighbours, state(round))`. The last one is kept.

    `make` must be a function of its arguments alone, so that rounds may be asked for in any order; `about` names
    all that decides it.
    """

    def __init__(
        self,
        of: Graph,
        state: Callable[[int], Hashable],
        make: Callable[[Neighbours, Any], Neighbours],
        about: str,
    ) -> None:
        self._of, self._state, self._make, self._about = of, state, make, about
        self._from: tuple[Neighbours, Hashable] | None = None
        self._made: Fixed | None = None

    @property
    def clients(self) -> int:
        """How many nodes there are."""
        return self._of.clients

    def _at(self, round: int) -> Fixed:
        whole, state = neighbours(self._of, round), self._state(round)
        if self._made is None or self._from is None or self._from[1] != state or not same(self._from[0], whole):
            self._from, self._made = (whole, state), Fixed(self._make(whole, state))
        return self._made

    def edges(self, round: int) -> Tensor:
        """bool [receiver, sender]"""
        return self._at(round).edges(round)

    def neighbours(self, round: int) -> Neighbours:
        """The same, in memory proportional to its edges."""
        return self._at(round).neighbours(round)

    def fingerprint(self) -> str:
        """A digest of who hears whom in every round."""
        return digest(self._about, self._of.fingerprint())


def same(one: Neighbours, other: Neighbours) -> bool:
    """Whether everybody hears the same in both."""
    return one is other or (torch.equal(one.starts, other.starts) and torch.equal(one.senders, other.senders))


def from_networkx(graph: Any) -> Fixed:
    """A graph from networkx: nodes are clients in the order of `graph.nodes`, directed edges go sender -> receiver."""
    if not isinstance(graph, nx.Graph):
        raise DataError(f"expected a networkx graph, not {type(graph).__name__}")
    place = {node: at for at, node in enumerate(graph.nodes)}
    ends = [(place[sender], place[receiver]) for sender, receiver in graph.edges()]
    senders, receivers = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    return Fixed((heard if graph.is_directed() else joined)(len(place), receivers, senders))


def named(name: str, given: Mapping[str, Any] | None, *, clients: int, seed: int, ids: Sequence[str]) -> Graph:
    """The graph of that name, or of anybody's own function; each is told `clients`, `seed` and `ids` if it asks."""
    from surefed.graphs import GRAPHS  # every graph's file imports this one

    factory = find(name, GRAPHS, "graph")
    if name not in GRAPHS:
        made = _own(factory, name, given or {}, clients, seed)
    else:
        told = {"clients": clients, "seed": seed, "ids": tuple(ids)}
        asked = [told[at] for at in inspect.signature(factory).parameters if at in told]
        made = build(factory, "graph", name, given or {}, *asked, gives=object)
    graph: Graph = made if hasattr(made, "fingerprint") else from_networkx(made)
    return fitting(graph, clients)


def _own(factory: Any, name: str, given: Mapping[str, Any], clients: int, seed: int) -> Any:
    """Call any function that returns a graph; `seed` and `n` are the experiment's unless told otherwise."""
    try:
        told = {"seed": key(seed, "graph") & 0xFFFFFFFF, "n": clients}
        asked = inspect.signature(factory).parameters
        return factory(**{option: value for option, value in told.items() if option in asked} | dict(given))
    except Exception as error:  # somebody's own code may fail in any way
        raise ConfigError(f"cannot build the graph {name!r}: {error}") from error


def fitting(graph: Graph, clients: int) -> Graph:
    """The graph, if it has a node for every client."""
    if graph.clients != clients:
        raise DataError(f"the graph has {graph.clients} nodes, but there are {clients} clients; make them equal")
    return graph
