"""A federation that learns a linear regression: who observes which weights, who lies, and who hears whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import torch
from torch import Tensor

from surefed.core import ConfigError, DataError
from surefed.theory.features import Features, one_hot

Schedule = Callable[[int], Tensor]
"""round -> who hears whom, bool [receiver, sender], True on the diagonal; the `edges` of any `surefed.graphs.Graph`."""


@dataclass(frozen=True, slots=True)
class World:
    """Everything that the theorems speak of: y = <theta, x> + noise, plus `bias` on the labels of the malicious.

    theta: the true weights. [weight]
    observes: the index sets, True where a client's samples are not zero. bool [client, weight]
    noise: the variance of each client's label noise. [client]
    malicious: whose labels are biased. bool [client]
    bias: what is added to them, b of the paper.
    prior: the covariance everybody starts from, about a mean of 0. [weight, weight]
    sufficient: whether the honest index sets must cover all weights; False to watch what happens when they do not.
    """

    theta: Tensor
    observes: Tensor
    noise: Tensor
    malicious: Tensor
    bias: float = 0.0
    prior: Tensor = field(default_factory=lambda: torch.empty(0))
    features: Features = field(default_factory=one_hot)
    sufficient: bool = True

    def __post_init__(self) -> None:
        clients, weights = self.observes.shape
        if self.theta.shape != (weights,) or self.noise.shape != (clients,) or self.malicious.shape != (clients,):
            raise DataError(
                f"index sets of {clients} clients over {weights} weights do not fit {tuple(self.theta.shape)} true "
                f"weights, {tuple(self.noise.shape)} noise variances and {tuple(self.malicious.shape)} roles"
            )
        if not bool((self.noise > 0).all()):
            raise DataError(f"noise variances must be positive, and the smallest is {float(self.noise.min()):g}")
        if not self.prior.numel():
            object.__setattr__(self, "prior", 9.0 * torch.eye(weights, dtype=torch.float64))
        _check_prior(self.prior, weights)
        blind = (~self.observes[~self.malicious].any(0)).nonzero().flatten().tolist()
        if self.sufficient and blind:
            raise DataError(
                f"no honest client observes weight {blind[0]}: the index sets must cover all {weights} weights "
                "(sufficient=False lets them not)"
            )

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return self.observes.shape[0]

    @property
    def weights(self) -> int:
        """How many weights there are."""
        return self.observes.shape[1]

    @property
    def honest(self) -> Tensor:
        """Who tells the truth. bool [client]"""
        return ~self.malicious

    @property
    def shift(self) -> Tensor:
        """What is added to each client's labels. [client]"""
        return self.bias * self.malicious.double()


def _check_prior(prior: Tensor, weights: int) -> None:
    if prior.shape != (weights, weights) or not torch.equal(prior, prior.mT):
        raise DataError(f"the prior must be a symmetric {weights} x {weights} matrix, not {tuple(prior.shape)}")
    spectrum = torch.linalg.eigvalsh(prior)
    if not bool(spectrum[0] > 1e-12 * spectrum[-1]):
        raise DataError(f"the prior covariance is singular: its smallest eigenvalue is {float(spectrum[0]):.2g}")


def make(
    observes: Tensor,
    *,
    theta: Tensor | None = None,
    noise: float | Tensor = 1.0,
    malicious: int | Tensor = 0,
    bias: float = 0.0,
    prior_std: float = 3.0,
    features: Features | None = None,
    sufficient: bool = True,
) -> World:
    """A world with usual values for what is not given; a number of malicious clients means the last ones."""
    clients, weights = observes.shape
    if isinstance(malicious, int):
        if not 0 <= malicious < clients:
            raise ConfigError(f"of {clients} clients between 0 and {clients - 1} can be malicious, not {malicious}")
        malicious = torch.arange(clients) >= clients - malicious
    if theta is None:
        theta = torch.linspace(-1.5, 1.5, weights, dtype=torch.float64)
    variances = torch.as_tensor(noise, dtype=torch.float64).expand(clients)
    prior = prior_std**2 * torch.eye(weights, dtype=torch.float64)
    return World(theta, observes, variances, malicious, bias, prior, features or one_hot(), sufficient)


def index_sets(*sets: set[int], weights: int) -> Tensor:
    """Who observes what, written out. bool [client, weight]"""
    return torch.stack([torch.tensor([k in one for k in range(weights)]) for one in sets])


def horizontal(clients: int, weights: int) -> Tensor:
    """Everybody observes everything. bool [client, weight]"""
    return torch.ones(clients, weights, dtype=torch.bool)


def vertical(clients: int, weights: int) -> Tensor:
    """The weights are dealt out: each is observed by the clients of one group only. bool [client, weight]"""
    groups = min(clients, weights)
    return torch.arange(clients)[:, None] % groups == torch.arange(weights)[None] % groups


def mixed(clients: int, weights: int, each: int) -> Tensor:
    """Client i observes `each` weights in a row from i on, so that neighbours share some. bool [client, weight]"""
    if not 0 < each <= weights:
        raise ConfigError(f"a client can observe between 1 and {weights} weights, not {each}")
    offset = (torch.arange(weights)[None] - torch.arange(clients)[:, None]) % weights
    return offset < each


def hears(graph: Any) -> Tensor:
    """Who hears whom in an undirected networkx graph; everybody hears itself. bool [receiver, sender]"""
    matrix = torch.from_numpy(nx.to_numpy_array(graph, weight=None) > 0)
    return matrix | torch.eye(len(matrix), dtype=torch.bool)


def fixed(edges: Tensor) -> Schedule:
    """The same neighbours in every round."""
    return lambda round: edges


def complete(clients: int) -> Schedule:
    """Everybody hears everybody."""
    return fixed(hears(nx.complete_graph(clients)))


def ring(clients: int) -> Schedule:
    """Everybody hears the client before and the client after."""
    return fixed(hears(nx.cycle_graph(clients)))


def star(clients: int) -> Schedule:
    """Client 0 hears everybody; the others hear client 0."""
    return fixed(hears(nx.star_graph(clients - 1)))


def cycle(*phases: Tensor) -> Schedule:
    """One graph after the other, again and again."""
    return lambda round: phases[round % len(phases)]


def matchings(clients: int) -> Schedule:
    """Pairs talk, and pairs change every round: never a connected graph, always one over two rounds."""
    if clients < 4 or clients % 2:
        raise ConfigError(f"pairs need an even number of at least 4 clients, not {clients}")
    pairs = [nx.Graph(), nx.Graph()]
    for parity, graph in enumerate(pairs):
        graph.add_nodes_from(range(clients))
        graph.add_edges_from((i, (i + 1) % clients) for i in range(parity, clients, 2))
    return cycle(*(hears(graph) for graph in pairs))


def at_times(edges: Tensor, times: set[int]) -> Schedule:
    """These neighbours in the named rounds (counted from 1), nobody in between."""
    alone = torch.eye(len(edges), dtype=torch.bool)
    return lambda round: edges if round + 1 in times else alone


def restrict(schedule: Schedule, who: Tensor) -> Schedule:
    """The same graph with only the edges among `who`."""
    among = who[:, None] & who[None]
    alone = torch.eye(len(who), dtype=torch.bool)
    return lambda round: (schedule(round) & among) | alone
