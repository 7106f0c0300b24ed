from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from surefed.core import Stream
from surefed.learn import Lesson, Network, Point


def test_sgd_with_momentum_equals_torch() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    learner = Point(Network(module), learning_rate=0.05, momentum=0.9)
    rng = torch.Generator().manual_seed(0)
    inputs, labels = torch.randn(20, 3, generator=rng), torch.randint(0, 2, (20,), generator=rng)
    batches = torch.randint(0, 20, (2, 6, 5), generator=rng)
    rows = learner.init(learner.network.initial(), 2)
    learner.learn(rows, Lesson(inputs, labels, batches, torch.tensor([20, 20]), Stream(0, "noise", range(2)), 0))
    start = learner.network.initial()
    for row in range(2):
        nn.utils.vector_to_parameters(start.clone(), module.parameters())
        optimiser = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
        for batch in batches[row]:
            optimiser.zero_grad()
            F.cross_entropy(module(inputs[batch]), labels[batch]).backward()
            optimiser.step()
        assert torch.allclose(rows.mean[row], nn.utils.parameters_to_vector(module.parameters()), atol=1e-6)
    assert torch.equal(rows.rho, torch.full_like(rows.rho, -3.0))
