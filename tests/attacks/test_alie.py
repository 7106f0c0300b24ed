from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from surefed.attacks import ATTACKS, Scene
from surefed.attacks.alie import z_max
from surefed.core import Belief

from .test_contract import liars, scene


def among(means: Tensor, starts: Tensor | None = None) -> Scene:
    """Two liars of six, at 7 after starting from 5, who see these means. [seen, weight]"""
    own = Belief(torch.full((6, means.shape[1]), 7.0), torch.full((6, means.shape[1]), -2.0))
    begun = Belief(own.mean[:2] - 2, own.rho[:2])
    seen, seen_start = (Belief(part, torch.zeros_like(part)) for part in (means, means if starts is None else starts))
    return replace(scene(own), start=begun, seen=seen, seen_start=seen_start)


def lie(name: str, told: Scene, **options: object) -> Tensor:
    """What the liars say. [malicious, weight]"""
    sent = ATTACKS[name](**options).tamper(told, liars())
    assert torch.equal(sent.rho, told.own.rho)
    return sent.mean


@pytest.mark.parametrize(
    ("clients", "malicious", "z"),
    [(25, 5, 0.253), (25, 11, 1.068), (20, 8, 0.674), (50, 20, 0.842), (50, 24, 1.426), (51, 12, 0.361)],
)
def test_z_of_known_networks(clients: int, malicious: int, z: float) -> None:
    assert z_max(clients, malicious) == pytest.approx(z, abs=6e-4)


@pytest.mark.parametrize(("clients", "malicious"), [(50, 26), (50, 50), (25, 13), (2, 1), (1, 1), (2, 0)])
def test_where_the_formula_is_undefined_z_is_one_and_a_half(clients: int, malicious: int) -> None:
    assert z_max(clients, malicious) == 1.5


def test_z_grows_with_the_number_of_liars() -> None:
    values = [z_max(51, malicious) for malicious in range(1, 26)]
    assert values == sorted(values)


def test_three_clients_worked_by_hand() -> None:
    """Of 1, 2, 3 the mean is 2 and the unbiased std 1; of 0, 0, 6 they are 2 and sqrt(12)."""
    told = among(torch.tensor([[1.0, 0.0], [2.0, 0.0], [3.0, 6.0]]))
    wanted = torch.tensor([2 - 1.5, 2 - 1.5 * 12**0.5])
    assert torch.allclose(lie("alie", told, z=1.5), wanted.expand(2, 2))


def test_the_default_is_z_max_of_the_network(rng: torch.Generator) -> None:
    """Two liars of six: s = 2 of 4 honest clients are needed, so z is the median of the normal, 0."""
    means = torch.randn(4, 9, generator=rng)
    assert torch.allclose(lie("alie", among(means)), means.mean(0).expand(2, 9))


def test_it_is_the_plain_mean_and_deviation_in_any_order(rng: torch.Generator) -> None:
    means = torch.randn(5, 9, generator=rng)
    columns = means.T.tolist()
    wanted = torch.tensor([statistics.mean(column) - 0.7 * statistics.stdev(column) for column in columns])
    assert torch.allclose(lie("alie", among(means), z=0.7), wanted.expand(2, 9), atol=1e-6)
    assert torch.allclose(lie("alie", among(means.flip(0)), z=0.7), wanted.expand(2, 9), atol=1e-6)
    assert torch.allclose(lie("alie", among(means + 3), z=0.7), wanted.expand(2, 9) + 3, atol=1e-6)


def test_who_sees_one_client_copies_it_and_who_sees_nobody_judges_by_itself() -> None:
    one = torch.tensor([[1.0, 2.0]])
    assert torch.equal(lie("alie", among(one), z=10.0), one.expand(2, 2))
    assert torch.equal(lie("alie", among(one[:0]), z=10.0), torch.full((2, 2), 7.0))


def test_a_z_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        ATTACKS["alie"](z=float("inf"))
