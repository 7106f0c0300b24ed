from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from surefed.core import Belief, Stream
from surefed.learn import Network, accuracy, distinct, log_loss, predict

SEEDS = st.integers(0, 2**20)


def test_draws_average_probabilities_not_scores(rng: torch.Generator) -> None:
    network = Network(nn.Linear(3, 2))
    belief = Belief(torch.randn(2, 8, generator=rng), torch.zeros(2, 8))
    inputs, noise = torch.randn(5, 3, generator=rng), Stream(0, "draws", range(2))
    drawn = predict(network, belief, inputs, draws=2, noise=noise, round=3)
    by_hand = []
    for row in range(2):
        parts = []
        for draw in range(2):
            weights = belief.mean[row] + belief.std[row] * noise.normal(8, round=3, draw=draw)[row]
            parts.append((inputs @ weights[:6].view(2, 3).T + weights[6:]).softmax(-1))
        by_hand.append((parts[0] + parts[1]) / 2)
    assert torch.allclose(drawn, torch.stack(by_hand), atol=1e-6)
    assert torch.allclose(predict(network, belief, inputs).sum(-1), torch.ones(2, 5))


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch, rng: torch.Generator) -> None:
    network = Network(nn.Linear(3, 2))
    belief = Belief(torch.randn(7, 8, generator=rng), torch.zeros(7, 8))
    inputs = torch.randn(5, 3, generator=rng)
    whole = predict(network, belief, inputs)
    monkeypatch.setattr("surefed.learn.prediction.WORK", {"cpu": 1})
    assert torch.allclose(whole, predict(network, belief, inputs))


def test_distinct_rows_by_hand() -> None:
    one, other, third = [1.0, 2.0, 3.0], [1.0, 2.0, 4.0], [math.nan, 0.0, 0.0]
    first, place = distinct(torch.tensor([other, one, other, third, one, third]))
    assert sorted(first.tolist()) == [0, 1, 3]
    assert first[place].tolist() == [0, 1, 0, 3, 1, 3]


@pytest.mark.parametrize("rows", [[[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]], [[0.0, 0.0], [0.0, -0.0]], [[5.0]]])
def test_rows_of_the_same_sum_that_differ_are_all_looked_at(rows: list[list[float]]) -> None:
    first, place = distinct(torch.tensor(rows))
    assert first.tolist() == place.tolist() == list(range(len(rows)))


@given(seed=SEEDS)
def test_distinct_rows_give_back_all(seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    few = torch.randn(4, 3, generator=rng)
    rows = few[torch.randint(0, 4, (150,), generator=rng)]
    first, place = distinct(rows)
    assert torch.equal(rows[first][place], rows)
    assert len(first) == len(torch.unique(rows, dim=0))


def test_scores_worked_by_hand() -> None:
    probabilities = torch.tensor([[[0.9, 0.1], [0.2, 0.8]], [[math.nan, 0.1], [0.0, 1.0]]])
    labels = torch.tensor([0, 0])
    assert accuracy(probabilities, labels).tolist() == [0.5, 0.0]
    assert log_loss(probabilities, labels)[0].item() == pytest.approx(-(math.log(0.9) + math.log(0.2)) / 2)
    assert log_loss(probabilities, labels)[1].item() == 100.0
