from __future__ import annotations

import pytest
import torch

from surefed.theory import predict
from surefed.theory.engine import simulate
from surefed.theory.features import dense, one_hot, powers
from surefed.theory.settings import Settings
from surefed.theory.world import complete, cycle, fixed, horizontal, index_sets, make, matchings, mixed, ring, star


def test_influence_of_known_graphs() -> None:
    even = torch.full((6, 6), 1 / 6, dtype=torch.float64)
    assert torch.allclose(predict.influence(complete(6)), even)
    assert torch.allclose(predict.influence(ring(6)), even)
    assert torch.allclose(predict.influence(matchings(6), 2), even)
    # of a fixed undirected graph, neighbours counted with oneself: 4, 2, 2, 2 of 10
    assert torch.allclose(predict.influence(star(4))[2], torch.tensor([0.4, 0.2, 0.2, 0.2]).double())


def test_who_hears_stubborn_clients_forgets_itself() -> None:
    """Client 0 hears itself, 1 and 2, who hear only themselves: in the end it is half of each, nothing of itself."""
    hears = torch.tensor([[True, True, True], [False, True, False], [False, False, True]])
    assert torch.allclose(predict.influence(fixed(hears))[0], torch.tensor([0.0, 0.5, 0.5]).double())


def test_path_weights_by_plain_products() -> None:
    one, two = star(3)(0), ring(3)(0)
    schedule = cycle(one, two)
    a, b = predict.trust_weights(one), predict.trust_weights(two)
    products = [a @ b @ a, a @ b, a]  # rounds 0, 1, 2; the last is applied last
    total, squares = predict.path_weights(schedule, 3)
    assert torch.allclose(total, sum(products))
    assert torch.allclose(squares, sum(product.square() for product in products))


def test_bias_worked_by_hand() -> None:
    # one weight, one-hot: x uniform on (1/2, 3/2), E[x] = 1, E[x^2] = 13/12; noise 1 and 2, both as influential:
    # c = (1 / 2) / (13/12 * (1 + 1/2)) = 4 / 13
    world = make(horizontal(2, 1), noise=torch.tensor([1.0, 2.0]), malicious=1, bias=1.0)
    assert predict.bias_limit(world, predict.influence(complete(2)))[0].item() == pytest.approx(4 / 13)


def test_c_may_be_negative() -> None:
    # everybody lies about u and u^2: [[1/3, 1/4], [1/4, 1/5]] c = [1/2, 1/3], determinant 1/240, c = (4, -10/3)
    world = make(horizontal(2, 2), features=powers(), malicious=1, bias=1.0)
    second, first = world.features.second(world.observes)[0], world.features.first(world.observes)[0]
    assert torch.linalg.solve(second, first).tolist() == pytest.approx([4.0, -10 / 3])
    half = predict.bias_limit(world, predict.influence(complete(2)))[0]  # half of the clients lie
    assert half.tolist() == pytest.approx([2.0, -5 / 3])


def test_nobody_observes_nothing_moves() -> None:
    world = make(index_sets({0}, {0}, weights=2), malicious=1, bias=1.0, sufficient=False)
    assert predict.bias_limit(world, predict.influence(complete(2)))[0, 1].item() == 0.0


def test_the_error_of_a_complete_graph_is_that_of_all_samples_together() -> None:
    """Averaged precisions, summed information: the mean is that of one regression on everybody's samples."""
    world = make(horizontal(5, 2), noise=2.0)
    # each weight is seen in half of the samples: variance 2 / (5 t 13/24)
    constant = 2 * 2 / (5 * 13 / 24)
    assert predict.error_constant(world, predict.influence(complete(5)))[0].item() == pytest.approx(constant)
    error = predict.expected_error(world, complete(5), 4000)[0].item()
    assert 4000 * error == pytest.approx(constant, rel=2e-3)


@pytest.mark.parametrize(("name", "schedule"), [("star", star(4)), ("pairs", matchings(4))])
def test_the_expected_error_is_what_is_measured(name: str, schedule: object) -> None:
    world = make(mixed(4, 3, 2), features=dense(), malicious=1, bias=1.0)
    trace = simulate(world, schedule, Settings(200, 300), rule="bayp2pfl", times=torch.tensor([200]))
    off = (trace.mean[0] - world.theta).square().sum(-1).mean(0)  # [client]
    assert torch.allclose(off, predict.expected_error(world, schedule, 200), rtol=0.15)
    bias = (trace.mean[0] - world.theta).mean(0)
    assert torch.allclose(bias, predict.expected_bias(world, schedule, 200), atol=0.02)


@pytest.mark.parametrize(("shape", "slope"), [(0.5, -1.0), (2.0, -2 / 3), (3.0, -0.5)])
def test_the_rate_of_diagonal_beliefs(shape: float, slope: float) -> None:
    """E[x x^T] = (1 - m) I + m 1 1^T has smallest eigenvalue 1 - m = 1 / (1 + shape), and a diagonal of 1."""
    world = make(horizontal(3, 4), features=dense(shape))
    rate = predict.diagonal_rate(world, predict.influence(complete(3))[0])
    assert rate.slowest == pytest.approx(1 / (1 + shape))
    assert rate.slope == pytest.approx(slope)


def test_diagonal_beliefs_lose_nothing_on_one_hot_samples() -> None:
    world, weights = make(mixed(4, 3, 2), features=one_hot()), predict.influence(complete(4))
    rate = predict.diagonal_rate(world, weights[0])
    assert rate.slowest == pytest.approx(1.0)
    assert rate.doubt == pytest.approx(1.0)
    assert rate.constant == pytest.approx(predict.error_constant(world, weights)[0].item())


def test_the_bound_worked_by_hand() -> None:
    # one weight, one-hot, two clients: l = 12/13, a = 1, c = 6/13; kappa 4, b = 2: l (8 / (12/13))^2 = 12/13 * 75.1
    world = make(horizontal(2, 1), malicious=1, bias=2.0)
    weights = predict.influence(complete(2))
    assert predict.local_spread(world)[0, 0].item() == pytest.approx(12 / 13)
    bound = predict.fragmentation_bound(world, weights, 4.0)[0, 1].item()
    assert bound == pytest.approx(12 / 13 * (8 * 13 / 12) ** 2)
    drift = predict.fragmentation_bound(world, weights, 4.0, noise_free=True)[0, 1].item()
    assert drift == pytest.approx(bound / 4)


def test_there_is_no_bound_for_those_who_share_nothing() -> None:
    world = make(index_sets({0}, {0, 1}, {1}, weights=2), malicious=1, bias=2.0)
    bound = predict.fragmentation_bound(world, predict.influence(complete(3)), 4.0)
    assert bound[0, 2].item() == torch.inf
    assert bound[1, 2].item() < torch.inf


@pytest.mark.parametrize(
    ("sets", "heals"),
    [
        (({0, 1}, {0, 1}), True),
        (({0, 1, 2}, {1, 2}), True),
        (({0, 2}, {1, 2}), False),  # each is poisoned where only the other could tell
        (({0, 2}, {1, 2}, {0, 1, 2}), True),  # the third speaks to both
        (({0}, {0, 1}, {0, 1, 2}), True),
        (({0, 1}, {1, 2}, {2, 0}), False),
    ],
)
def test_who_finds_together_again(sets: tuple[set[int], ...], heals: bool) -> None:
    everything = set.union(*sets)
    world = make(index_sets(*sets, everything, weights=len(everything)), malicious=1, bias=2.0)
    assert predict.heals(world, complete(len(sets) + 1)(0)) is heals


def test_healing_needs_the_honest_to_hear_each_other() -> None:
    world = make(index_sets({0, 1, 2}, {1, 2}, {0, 1, 2}, weights=3), malicious=1, bias=2.0)
    assert not predict.heals(world, torch.eye(3, dtype=torch.bool))
