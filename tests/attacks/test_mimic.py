from __future__ import annotations

import torch

from surefed.attacks.mimic import outlier

from .test_alie import among, lie


def test_four_clients_worked_by_hand() -> None:
    """They vary most along the first weight, where -5 is farther from the mean 0 than 3, 1 and 1 are."""
    means = torch.tensor([[3.0, 0.1], [1.0, -0.1], [-5.0, 0.0], [1.0, 0.0]])
    assert torch.equal(lie("mimic", among(means)), means[2].expand(2, 2))


def test_the_farthest_client_is_not_copied_if_it_is_alone_in_its_direction() -> None:
    """Three and three clients at 2 and -2.1 vary more than the one that is 4 away in another direction."""
    first = torch.tensor([2.0, 2.0, 2.0, 0.0, -2.1, -2.0, -2.0])
    means = torch.stack((first, torch.tensor([0.0, 0, 0, 4, 0, 0, 0])), dim=1)
    assert int(outlier(means)) == 4


def test_it_agrees_with_the_singular_value_decomposition(rng: torch.Generator) -> None:
    for _ in range(20):
        direction = torch.randn(30, generator=rng)
        means = 5 + torch.randn(8, 30, generator=rng) + 2 * torch.randn(8, 1, generator=rng) * direction
        centred = (means - means.mean(0)).double()
        top = torch.linalg.svd(centred).Vh[0]
        assert int(outlier(means)) == int((centred @ top).abs().argmax())


def test_order_and_place_of_the_crowd_do_not_matter(rng: torch.Generator) -> None:
    means = torch.randn(8, 30, generator=rng)
    told = lie("mimic", among(means))
    assert torch.equal(told[0], told[1])
    assert (means == told[0]).all(1).sum().item() == 1, "the lie is some honest client's truth"
    assert torch.equal(lie("mimic", among(means.flip(0))), told)
    assert int(outlier(means + 10)) == int(outlier(means))


def test_where_all_agree_so_do_the_liars() -> None:
    same = torch.tensor([[1.0, -2.0]])
    assert torch.equal(lie("mimic", among(same)), same.expand(2, 2))
    assert torch.equal(lie("mimic", among(same.expand(3, 2))), same.expand(2, 2))
    assert torch.equal(lie("mimic", among(same[:0])), torch.full((2, 2), 7.0))
