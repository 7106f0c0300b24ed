from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import CLIENTS, SEEDS, step, world

ubar = RULES["ubar"]


def lonely(means: list[float], loss: dict[float, float]) -> tuple[Receivers, Belief, Tensor]:
    """A receiver at 0 that finds these losses, one for each place a model may be in."""

    def tried(models: Tensor, samples: int) -> Tensor:
        return torch.tensor([[loss[place] for place in models.flatten().tolist()]])

    sent = Belief(torch.tensor(means)[:, None], torch.full((len(means), 1), -2.0))
    at = Receivers(Belief(torch.zeros(1, 1), torch.zeros(1, 1)), 0, 1, loss=tried)
    return at, sent, torch.ones(1, len(means), dtype=torch.bool)


def test_near_and_no_worse_than_oneself() -> None:
    """The 3 nearest of 5 are at 1, 2 and -3; of these, those at 1 and -3 are no worse than 0 itself."""
    scene = lonely([9.0, 1.0, 2.0, -3.0, 8.0], {0.0: 1.0, 1.0: 1.0, 2.0: 1.5, -3.0: 0.5, 8.0: 0.0, 9.0: 0.0})
    outcome = step(ubar(share=0.6), *scene)
    assert outcome.inspection.trusted.tolist() == [[False, True, False, True, False]]
    assert outcome.social.mean.item() == pytest.approx(0.5 * 0.0 + 0.5 * -1.0)
    assert outcome.social.rho.item() == pytest.approx(-1.0)
    assert step(ubar(share=0.6, alpha=0.0), *scene).social.mean.item() == pytest.approx(-1.0)


@pytest.mark.parametrize("worst", [7.0, math.inf, math.nan])
def test_if_all_are_worse_the_best_of_the_near_ones_is_taken(worst: float) -> None:
    scene = lonely([1.0, 2.0, 3.0], {0.0: 0.0, 1.0: worst, 2.0: 6.0, 3.0: 1.0})
    assert step(ubar(), *scene).inspection.trusted.tolist() == [[False, True, False]]


def test_if_all_are_equally_bad_the_nearest_is_taken() -> None:
    scene = lonely([3.0, 2.0, 1.0], {0.0: 0.0, 1.0: math.nan, 2.0: math.inf, 3.0: math.inf})
    assert step(ubar(share=1.0), *scene).inspection.trusted.tolist() == [[False, False, True]]


def test_what_a_receiver_says_itself_is_not_counted() -> None:
    loss = {0.0: 0.0, 1.0: 5.0, 2.0: 4.0}
    outcome = step(ubar(share=1.0), *lonely([0.0, 1.0, 2.0], loss))
    assert outcome.inspection.trusted.tolist() == [[False, False, True]]
    alone = step(ubar(), *lonely([0.0], loss))
    assert not alone.inspection.trusted.any()
    assert alone.social.rho.item() == 0.0  # kept as it was


def test_values_out_of_range_are_refused() -> None:
    for options in ({"share": 0.0}, {"share": 1.1}, {"alpha": 1.0}, {"alpha": -0.1}, {"samples": 0}):
        with pytest.raises(ValueError, match="must"):
            ubar(**options)


@given(seed=SEEDS, share=st.sampled_from([0.1, 0.4, 0.7, 1.0]))
def test_one_receiver_at_a_time_as_the_paper_writes_it(seed: int, share: float) -> None:
    at, sent, edges = world(seed)
    assert at.loss is not None
    edges[3] = False
    outcome = step(ubar(share=share), at, sent, edges)
    losses, own = at.loss(sent.mean, 32), at.loss(at.social.mean, 32)
    for i in range(CLIENTS):
        heard = [j for j in edges[i].nonzero().flatten().tolist() if j != i]
        distance = (sent.mean - at.social.mean[i]).norm(dim=1).tolist()
        near = sorted(heard, key=lambda j: distance[j])[: math.ceil(share * len(heard) - 1e-9)]
        kept = [j for j in near if losses[i, j] <= own[i, i]] or sorted(near, key=lambda j: float(losses[i, j]))[:1]
        assert outcome.inspection.trusted[i].nonzero().flatten().tolist() == sorted(kept)
        expected = (at.social.mean[i] + sent.mean[kept].mean(0)) / 2 if kept else at.social.mean[i]
        assert torch.allclose(outcome.social.mean[i], expected, atol=1e-6)
