from __future__ import annotations

import pytest
import torch

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import CLIENTS, step, world


def test_long_updates_are_scaled_to_the_bound() -> None:
    """Updates (3, 4) and (0, 1) from (1, 1), bound 2.5: the first is halved, the second goes through."""
    sent = Belief(torch.tensor([[4.0, 5.0], [1.0, 2.0]]), torch.zeros(2, 2))
    at = Receivers(sent, 0, 1, previous=Belief(torch.ones(2, 2), torch.zeros(2, 2)))
    found = step(RULES["clipping"](bound=2.5), at, sent, torch.ones(2, 2) > 0).social.mean
    assert found.tolist() == [pytest.approx([1.75, 2.5])] * 2


def test_a_huge_bound_is_the_mean() -> None:
    at, sent, edges = world(0)
    mean = step(RULES["fedavg"](), at, sent, edges).social.mean
    assert torch.allclose(step(RULES["clipping"](bound=1e9), at, sent, edges).social.mean, mean, atol=1e-6)


def test_nobody_moves_the_result_by_more_than_the_bound() -> None:
    at, sent, edges = world(0, density=1.0)
    sent.mean[2] = 1e20
    assert at.previous is not None
    found = step(RULES["clipping"](bound=0.5), at, sent, edges).social.mean
    assert ((found - at.previous.mean).norm(dim=1) <= 0.5 + 1e-5).all()


def test_against_one_receiver_at_a_time() -> None:
    for seed in range(20):
        at, sent, edges = world(seed, density=0.5)
        sent.mean[2] *= 5
        edges[5] = False
        assert at.previous is not None
        found = step(RULES["clipping"](factor=0.8), at, sent, edges).social
        for i in range(CLIENTS):
            start, heard = at.previous.mean[i].double(), edges[i].nonzero().flatten().tolist()
            bound = 0.8 * (at.social.mean[i].double() - start).norm()
            moves = [sent.mean[j].double() - start for j in heard]
            plain = [start + move / max(1.0, float(move.norm() / bound)) for move in moves]
            mean = sum(plain) / len(plain) if plain else at.social.mean[i].double()
            assert torch.allclose(found.mean[i].double(), mean, atol=1e-6)


@pytest.mark.parametrize("bad", [{"bound": 0.0}, {"factor": -1.0}])
def test_a_bad_option_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        RULES["clipping"](**bad)
