from __future__ import annotations

import pytest
import torch
from torch import nn

from surefed.core import Stream
from surefed.learn import Lesson, Network, Point
from surefed.learn.base import blocks


@pytest.mark.parametrize(
    ("weights", "values", "heights"),
    [
        (10**6, 10**6, [7]),
        (12 * 3, 10**6, [3, 3, 1]),  # twelve weights a row
        (10**6, 4 * 7 * 2, [2, 2, 2, 1]),  # a sample keeps 4 inputs and 3 outputs; a batch has 4 samples
        (10**6, 1, [1] * 7),
    ],
)
def test_blocks_bound_weights_and_what_layers_keep(
    weights: int, values: int, heights: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefed.learn.base.BLOCK", weights)
    monkeypatch.setattr("surefed.learn.base.VALUES", values)
    learner = Point(Network(nn.Linear(4, 3, bias=False)))
    batches = torch.zeros(7, 2, 4, dtype=torch.int64)
    lesson = Lesson(torch.zeros(5, 4), torch.zeros(5), batches, torch.full((7,), 5), Stream(0, "n", range(7)), 0)
    rows = learner.init(learner.network.initial(), 7)
    parts = list(blocks(learner.network, rows, lesson, None))
    assert [len(range(7)[part]) for part in parts if isinstance(part, slice)] == heights
    assert [at for part in parts for at in range(7)[part]] == list(range(7))  # type: ignore[index]
    some = list(blocks(learner.network, rows, lesson, torch.tensor([True] * 3 + [False] + [True] * 3)))
    assert torch.cat(some).tolist() == [0, 1, 2, 4, 5, 6]  # type: ignore[arg-type]
    assert max(map(len, some)) <= heights[0]  # type: ignore[arg-type]
