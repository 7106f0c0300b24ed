"""Who hears whom, round by round."""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

import networkx as nx
import torch
from torch import Tensor

from surefed.core import DataError


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


class Fixed:
    """The same neighbours in every round."""

    def __init__(self, edges: Tensor) -> None:
        if edges.dim() != 2 or edges.shape[0] != edges.shape[1] or edges.dtype != torch.bool:
            raise DataError(f"edges must be a square bool matrix, not {edges.dtype} of shape {tuple(edges.shape)}")
        self._edges = edges | torch.eye(len(edges), dtype=torch.bool, device=edges.device)

    @property
    def clients(self) -> int:
        """How many nodes there are."""
        return len(self._edges)

    def edges(self, round: int) -> Tensor:
        """bool [receiver, sender]"""
        return self._edges

    def fingerprint(self) -> str:
        """A digest of who hears whom."""
        return hashlib.blake2b(self._edges.cpu().numpy().tobytes(), digest_size=16).hexdigest()


def from_networkx(graph: Any) -> Fixed:
    """A graph from networkx: nodes are clients in the order of `graph.nodes`, directed edges go sender -> receiver."""
    if not isinstance(graph, nx.Graph):
        raise DataError(f"expected a networkx graph, not {type(graph).__name__}")
    matrix = nx.to_numpy_array(graph, weight=None) > 0  # [from, to]
    return Fixed(torch.from_numpy(matrix.T.copy()))
