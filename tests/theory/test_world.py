from __future__ import annotations

import networkx as nx
import pytest
import torch
from torch import Tensor

from surefed.core import ConfigError, DataError, generator
from surefed.graphs import Fixed
from surefed.theory.features import Features, dense, one_hot, powers, together
from surefed.theory.settings import Settings
from surefed.theory.world import (
    World,
    at_times,
    complete,
    horizontal,
    make,
    matchings,
    mixed,
    restrict,
    ring,
    star,
    vertical,
)


def connected(edges: Tensor) -> bool:
    return bool(nx.is_connected(nx.from_numpy_array(edges.numpy())))


def test_index_sets() -> None:
    assert horizontal(2, 3).all()
    assert vertical(2, 4).tolist() == [[True, False, True, False], [False, True, False, True]]
    assert vertical(4, 2).tolist() == [[True, False], [False, True], [True, False], [False, True]]
    assert mixed(2, 4, 2).tolist() == [[True, True, False, False], [False, True, True, False]]
    assert mixed(5, 4, 2)[4].tolist() == [True, True, False, False]  # they go round


def test_pairs_are_never_connected_and_always_over_two_rounds() -> None:
    schedule = matchings(8)
    for round in range(4):
        assert not connected(schedule(round))
        assert torch.equal(schedule(round), schedule(round).mT)
        assert connected(schedule(round) | schedule(round + 1))
        assert (schedule(round).sum(1) == 2).all()  # itself and one other


def test_other_graphs() -> None:
    assert complete(3)(7).all()
    assert (ring(5)(0).sum(1) == 3).all()
    assert star(4)(0).sum(1).tolist() == [4, 2, 2, 2]
    rare = at_times(torch.ones(2, 2, dtype=torch.bool), {2, 4})
    assert [bool(rare(round).all()) for round in range(5)] == [False, True, False, True, False]
    only = restrict(complete(3), torch.tensor([True, True, False]))(0)
    assert only.tolist() == [[True, True, False], [True, True, False], [False, False, True]]


def test_the_edges_of_any_graph_are_a_schedule() -> None:
    graph = Fixed(torch.ones(3, 3, dtype=torch.bool))
    assert torch.equal(graph.edges(0), complete(3)(0))


@pytest.mark.parametrize(
    "features", [one_hot(), dense(0.5), dense(3.0), powers(), together()], ids=lambda one: one.name
)
def test_moments_are_those_of_what_is_drawn(features: Features) -> None:
    observes = torch.tensor([[True, True, True], [False, True, True]])
    x = features.draw(generator(0, "test"), observes, (60_000,))  # [sample, client, weight]
    assert x.shape == (60_000, 2, 3)
    assert bool((x >= 0).all())
    assert not x[:, 1, 0].any()
    assert torch.allclose(x.mean(0), features.first(observes), atol=0.02)
    second = torch.einsum("sck,scl->ckl", x, x) / len(x)
    assert torch.allclose(second, features.second(observes), atol=0.06)


def test_one_hot_samples_show_one_weight() -> None:
    x = one_hot().draw(generator(0, "test"), mixed(4, 6, 3), (200,))
    assert ((x > 0).sum(-1) == 1).all()


def test_index_sets_must_cover_the_weights() -> None:
    with pytest.raises(DataError, match="no honest client observes weight 2"):
        make(torch.tensor([[True, True, False], [True, False, False]]))
    lonely = torch.tensor([[True, True, False], [True, True, True]])
    with pytest.raises(DataError, match="no honest client observes weight 2"):
        make(lonely, malicious=1)  # only the liar does
    assert make(lonely, malicious=1, sufficient=False).weights == 3


@pytest.mark.parametrize("noise", [0.0, -1.0, float("nan")])
def test_noise_must_be_positive(noise: float) -> None:
    with pytest.raises(DataError, match="noise variances must be positive"):
        make(horizontal(2, 2), noise=noise)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (torch.tensor([[1.0, 1.0], [1.0, 1.0]]), "singular"),
        (torch.zeros(2, 2), "singular"),
        (torch.tensor([[1.0, 2.0], [2.0, 1.0]]), "singular"),
        (torch.tensor([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (torch.eye(3), "symmetric 2 x 2"),
    ],
)
def test_priors_must_be_covariances(prior: Tensor, message: str) -> None:
    theta, roles = torch.zeros(2, dtype=torch.float64), torch.zeros(2, dtype=torch.bool)
    with pytest.raises(DataError, match=message):
        World(theta, horizontal(2, 2), torch.ones(2), roles, prior=prior.double())


def test_shapes_must_fit() -> None:
    with pytest.raises(DataError, match="do not fit"):
        make(horizontal(2, 3), theta=torch.zeros(2, dtype=torch.float64))


def test_values_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match="between 0 and 1 can be malicious"):
        make(horizontal(2, 2), malicious=2)
    with pytest.raises(ConfigError, match="between 1 and 3 weights"):
        mixed(2, 3, 4)
    with pytest.raises(ConfigError, match="even number"):
        matchings(5)
    with pytest.raises(ConfigError, match="positive"):
        dense(0.0)
    with pytest.raises(ConfigError, match="at least 1 round"):
        Settings(rounds=0)


def test_settings_scale() -> None:
    assert Settings(1000, 9, 3).times(1 / 2, 1 / 3) == Settings(500, 3, 3)
    assert Settings(1000, 3).times(repetitions=1 / 3).repetitions == 2
