"""What everybody predicts, where some have pooled the same."""

from __future__ import annotations

import pytest
import torch

from surefed.learn import distinct, predict
from surefed.sim import Experiment
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round, predictions, social


@pytest.mark.parametrize(("rule", "many"), [("trimmed_mean", 1), ("local_only", 6)])
def test_who_has_pooled_the_same_is_asked_once(rule: str, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = assemble(Experiment.of({"data": {"clients": 6}, "model": {"name": "mlp"}, "rule": {"name": rule}}))
    world = begin(setup)
    for _ in range(3):
        play_round(setup, world)
    asked = []
    monkeypatch.setattr("surefed.sim.engine.predict", lambda *given: asked.append(len(given[1])) or predict(*given))
    inputs = setup.clean.test_inputs
    found = predictions(setup, world, "social", inputs)
    assert asked == [many] == [len(distinct(social(setup, world).mean)[0])]
    assert torch.allclose(found, predict(setup.network, social(setup, world), inputs), rtol=1e-5, atol=1e-7)
