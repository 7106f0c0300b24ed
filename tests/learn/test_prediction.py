from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from surefed.core import Belief, Stream
from surefed.learn import Network, accuracy, log_loss, predict


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


def test_scores_worked_by_hand() -> None:
    probabilities = torch.tensor([[[0.9, 0.1], [0.2, 0.8]], [[math.nan, 0.1], [0.0, 1.0]]])
    labels = torch.tensor([0, 0])
    assert accuracy(probabilities, labels).tolist() == [0.5, 0.0]
    assert log_loss(probabilities, labels)[0].item() == pytest.approx(-(math.log(0.9) + math.log(0.2)) / 2)
    assert log_loss(probabilities, labels)[1].item() == 100.0
