from __future__ import annotations

import pytest
import torch

from surefed.core import Belief
from surefed.rules import RULES, Receivers
from surefed.rules.before import BEFORE, preceded

from ..test_contract import step


def test_every_message_becomes_the_average_of_its_nearest_by_hand() -> None:
    """0, 1, 3 and 100 with one liar: three nearest each.

    0 -> (0+1+3)/3, 1 -> the same, 3 -> the same, 100 -> (100+3+1)/3. Their mean is (4/3 * 3 + 104/3) / 4 = 29/3.
    """
    sent = Belief(torch.tensor([[0.0], [1.0], [3.0], [100.0]]), torch.tensor([[0.0], [3.0], [6.0], [9.0]]))
    at = Receivers(sent, 0, 1, malicious=torch.ones(4, dtype=torch.int64))
    edges = torch.ones(4, 4, dtype=torch.bool)
    mean = step(preceded(RULES["fedavg"](), BEFORE["nnm"]()), at, sent, edges).social
    assert mean.mean.flatten().tolist() == pytest.approx([116 / 12] * 4)
    assert mean.rho.flatten().tolist() == pytest.approx([(3.0 * 3 + 6.0) / 4] * 4)
    middle = step(preceded(RULES["median"](), BEFORE["nnm"]()), at, sent, edges).social.mean
    assert middle.flatten().tolist() == pytest.approx([4 / 3] * 4)


def test_against_one_receiver_at_a_time() -> None:
    rng = torch.Generator().manual_seed(0)
    for seed in range(10):
        mean = torch.randn(7, 5, generator=rng)
        edges = (torch.rand(7, 7, generator=rng) < 0.6) | torch.eye(7, dtype=torch.bool)
        sent = Belief(mean, torch.zeros_like(mean))
        liars = torch.arange(7) % 3
        found = step(
            preceded(RULES["median"](), BEFORE["nnm"]()), Receivers(sent, seed, 99, malicious=liars), sent, edges
        )
        for i in range(7):
            heard = mean[edges[i]]
            nearest = max(1, len(heard) - int(liars[i]))
            mixed = torch.stack(
                [heard[(heard - one).square().sum(1).argsort(stable=True)[:nearest]].mean(0) for one in heard]
            )
            ordered = mixed.sort(0).values
            middle = (ordered[(len(mixed) - 1) // 2] + ordered[len(mixed) // 2]) / 2
            assert torch.allclose(found.social.mean[i], middle, atol=1e-5)


def test_no_liars_make_everything_the_mean_and_all_liars_nothing() -> None:
    mean = torch.randn(5, 3, generator=torch.Generator().manual_seed(2))
    sent, edges = Belief(mean, torch.zeros_like(mean)), torch.ones(5, 5, dtype=torch.bool)
    at = Receivers(sent, 0, 1)
    all_mean = step(preceded(RULES["krum"](malicious=0), BEFORE["nnm"](malicious=0)), at, sent, edges)
    assert torch.allclose(all_mean.social.mean, mean.mean(0).expand(5, -1), atol=1e-6)
    untouched = step(preceded(RULES["median"](), BEFORE["nnm"](malicious=99)), at, sent, edges)
    assert torch.allclose(untouched.social.mean, step(RULES["median"](), at, sent, edges).social.mean, atol=1e-6)


def test_options() -> None:
    assert BEFORE["nnm"]().needs == {"malicious"}
    assert not BEFORE["nnm"](malicious=2).needs
    with pytest.raises(ValueError, match="0 or more"):
        BEFORE["nnm"](malicious=-1)
