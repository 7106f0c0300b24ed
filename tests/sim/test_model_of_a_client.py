"""`run.model(client)` is the network that was evaluated, with all that belongs to the client."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from surefed.data import federation
from surefed.sim import Experiment, run


def blobs(seed: int, count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    return rng.normal(size=(count, 3)) + 3 * seed + 2 * labels[:, None], labels


@pytest.mark.parametrize("layer", [nn.BatchNorm1d(8), nn.Dropout(0.5)], ids=["batch norm", "dropout"])
def test_it_predicts_what_was_evaluated(tmp_path: Path, layer: nn.Module) -> None:
    """Every client has inputs of its own mean, so running statistics differ from client to client."""
    data = federation([blobs(seed) for seed in range(3)], blobs(1, 200))
    net = nn.Sequential(nn.Linear(3, 8), layer, nn.Tanh(), nn.Linear(8, 2))
    plan = Experiment.of({"rounds": 5, "rule": {"name": "local_only"}, "learn": {"learning_rate": 0.05}})
    made = run(plan, data=data, model=net, out=tmp_path / "run")
    seen = made.record.trust(5)["accuracy"]
    for client in range(3):
        module = made.model(client)
        assert not module.training
        right = (module(data.test_inputs).argmax(-1) == data.test_labels).float().mean()
        assert right.item() == pytest.approx(float(seen[client]), abs=1e-6)
    if isinstance(layer, nn.BatchNorm1d):
        first, last = (made.model(client)[1].running_mean for client in (0, 2))
        assert isinstance(first, torch.Tensor)
        assert not torch.allclose(first, last)
