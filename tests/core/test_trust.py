from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefed.core import Belief, band, confidence_set, introspect, measure, rho_of


def plain_violations(local: Belief, means: torch.Tensor, kappa: float) -> list[list[int]]:
    """The paper's test, one weight at a time."""
    std = local.std
    return [
        [
            sum(
                not abs(local.mean[i, k] - means[j, k]) <= kappa * std[i, k]
                for k in range(means.shape[1])
            )
            for j in range(means.shape[0])
        ]
        for i in range(len(local))
    ]  # fmt: skip


@given(st.integers(0, 2**20), st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0]))
def test_measure_against_the_plain_rule(seed: int, kappa: float) -> None:
    rng = torch.Generator().manual_seed(seed)
    local = Belief(torch.randn(4, 9, generator=rng), torch.randn(4, 9, generator=rng))
    # steps of half a std, so that many comparisons fall exactly on the edge of the band
    means = local.mean[[0, 1, 2, 3, 0]] + local.std[[0, 1, 2, 3, 1]] * torch.randint(-4, 5, (5, 9), generator=rng) / 2
    found = measure(local, band(local, kappa), means, detail=True)
    assert found.outside is not None
    assert found.outside.tolist() == plain_violations(local, means, kappa)
    edges = torch.rand(4, 5, generator=rng) < 0.7
    trusted = confidence_set(found, edges, 9)
    assert trusted.tolist() == (edges & (found.outside == 0)).tolist()


@pytest.mark.parametrize("where", [0, 50_000, 99_999])
@pytest.mark.parametrize("value", [1.0, math.nan, math.inf, -math.inf])
def test_one_bad_weight_anywhere_is_seen(where: int, value: float) -> None:
    local = Belief(torch.zeros(3, 100_000), torch.full((3, 100_000), -3.0))
    means = torch.zeros(4, 100_000)
    means[2, where] = value
    found = measure(local, band(local, 2.0), means)
    assert (
        confidence_set(found, torch.ones(3, 4, dtype=torch.bool), 100_000).tolist() == [[True, True, False, True]] * 3
    )


def test_detail_names_the_worst_weight_and_its_distance_in_stds() -> None:
    local = Belief(torch.zeros(1, 5), rho_of(torch.tensor([[0.1, 0.1, 0.5, 0.1, 0.1]])))
    means = torch.tensor([[0.05, -0.3, 0.4, 0.0, 0.25]])
    found = measure(local, band(local, 2.0), means, detail=True)
    assert found.worst is not None
    assert found.sigmas is not None
    assert found.outside is not None
    assert found.worst.item() == 1
    assert found.sigmas.item() == pytest.approx(3.0, rel=1e-4)
    assert found.outside.item() == 2


def test_a_share_of_agreement_forgives_that_many_weights() -> None:
    local = Belief(torch.zeros(1, 10), torch.zeros(1, 10))
    means = torch.zeros(3, 10)
    means[1, :2] = means[2, :3] = 100.0
    found = measure(local, band(local, 1.0), means, detail=True)
    edges = torch.ones(1, 3, dtype=torch.bool)
    assert confidence_set(found, edges, 10, agreement=0.8).tolist() == [[True, True, False]]
    assert confidence_set(found, edges, 10, agreement=1.0).tolist() == [[True, False, False]]
    with pytest.raises(ValueError, match="detail=True"):
        confidence_set(measure(local, band(local, 1.0), means), edges, 10, agreement=0.8)


def test_a_band_of_its_own_for_every_receiver() -> None:
    local = Belief(torch.zeros(2, 1), rho_of(torch.ones(2, 1)))
    found = measure(local, band(local, torch.tensor([[1.0], [3.0]])), torch.tensor([[2.0]]))
    assert (found.excess <= 0).tolist() == [[False], [True]]


def test_an_infinite_band_holds_everything_and_a_zero_one_only_the_same() -> None:
    local = Belief(torch.zeros(1, 2), torch.tensor([[-200.0, 0.0]]))  # a std of 0 and one of log 2
    means = torch.tensor([[0.0, 0.0], [0.0, 1e-30], [1e30, 0.0]])
    assert (measure(local, band(local, 0.0), means).excess <= 0).tolist() == [[True, False, False]]
    assert (measure(local, band(local, math.inf), means).excess <= 0).tolist()[0][:2] == [True, True]


def test_introspection_overwrites_what_it_is_told_to() -> None:
    local = Belief(torch.zeros(2, 3), rho_of(torch.full((2, 3), 0.1)))
    social = Belief(torch.tensor([[0.1, 0.5, -0.1], [0.5, 0.0, 0.0]]), rho_of(torch.full((2, 3), 0.3)))
    width = band(local, 2.0)
    awake, both = torch.tensor([True, False]), torch.tensor([True, True])

    repaired, count = introspect(social, local, width, awake)
    assert torch.allclose(repaired.mean, torch.tensor([[0.1, 0.0, -0.1], [0.5, 0.0, 0.0]]))
    assert torch.equal(repaired.rho, social.rho)
    assert count.tolist() == [1, 0]

    repaired, count = introspect(social, local, width, both, scope="mean_and_std")
    assert torch.allclose(repaired.std, torch.tensor([[0.3, 0.1, 0.3], [0.1, 0.3, 0.3]]))
    assert count.tolist() == [1, 1]

    repaired, _ = introspect(social, local, width, awake, scope="whole_belief")
    assert torch.equal(repaired.mean[0], local.mean[0])
    assert torch.equal(repaired.rho[0], local.rho[0])
    assert torch.equal(repaired.mean[1], social.mean[1])


def test_many_receivers_and_senders_are_measured_in_pieces() -> None:
    rng = torch.Generator().manual_seed(0)
    local = Belief(torch.randn(700, 70, generator=rng), torch.zeros(700, 70))
    means = torch.randn(300, 70, generator=rng)
    excess = measure(local, band(local, 2.0), means).excess
    whole = ((local.mean[:, None] - means).abs() - 2.0 * local.std[:, None]).amax(-1)
    assert torch.equal(excess, whole)


def test_of_many_clients_with_few_edges_only_these_are_measured() -> None:
    rng = torch.Generator().manual_seed(0)
    local = Belief(torch.randn(150, 7, generator=rng), torch.randn(150, 7, generator=rng))
    means, edges = torch.randn(150, 7, generator=rng), torch.rand(150, 150, generator=rng) < 0.05
    width = band(local, 2.0)
    whole, some = measure(local, width, means, detail=True), measure(local, width, means, detail=True, edges=edges)
    for name in ("excess", "outside", "worst", "sigmas"):
        one, other = getattr(whole, name), getattr(some, name)
        assert torch.equal(one[edges], other[edges])
        assert (other[~edges] == (torch.inf if name == "excess" else 0)).all()
