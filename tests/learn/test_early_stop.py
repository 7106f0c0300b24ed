from __future__ import annotations

import torch

from surefed.learn import early_stop


def test_stops_after_patience_rounds_below_the_best_and_never_resumes() -> None:
    watch = early_stop.start(2)
    # the first client falls, recovers, falls for good; the second never falls (equal is not below)
    history = [(0.5, 0.5), (0.4, 0.5), (0.5, 0.5), (0.3, 0.6), (0.4, 0.6), (0.9, 0.6)]
    learning = []
    for accuracy in history:
        watch = early_stop.look(watch, torch.tensor(accuracy), patience=2)
        learning.append(watch.learning.tolist())
    assert learning == [[True, True]] * 4 + [[False, True]] * 2
    assert watch.best.tolist() == torch.tensor([0.9, 0.6]).tolist()
