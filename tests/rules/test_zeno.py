from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import CLIENTS, SEEDS, step, world

zeno = RULES["zeno"]


def lonely(loss: list[float], means: list[float], malicious: int) -> tuple[Receivers, Belief, Tensor]:
    """A receiver that starts from 0, where its loss is 1, and finds these losses in what it hears."""
    sent = Belief(torch.tensor(means)[:, None], torch.arange(len(means), dtype=torch.float32)[:, None])
    zero = Belief(torch.zeros(1, 1), torch.zeros(1, 1))

    def tried(models: Tensor, samples: int) -> Tensor:
        return torch.tensor([loss]) if len(models) == len(loss) else torch.ones(1, 1)

    at = Receivers(zero, 0, 1, previous=zero, malicious=torch.tensor([malicious]), loss=tried)
    return at, sent, torch.ones(1, len(means), dtype=torch.bool)


def test_one_terrible_model_is_dropped() -> None:
    outcome = step(zeno(), *lonely([0.5, 90.0, 0.7], [1.0, 2.0, 3.0], malicious=1))
    assert outcome.inspection.trusted.tolist() == [[True, False, True]]
    assert outcome.social.mean.item() == pytest.approx(2.0)
    assert outcome.social.rho.item() == pytest.approx(1.0)


def test_being_far_costs() -> None:
    """Scores are 0.5 - 0.1 * 1, 0.6 - 0.1 * 9 and 0.4 - 0.1 * 0: of the best loss, the distance makes the worst."""
    world = lonely([0.5, 0.4, 0.6], [1.0, 3.0, 0.0], malicious=1)
    assert step(zeno(rho=0.1), *world).inspection.trusted.tolist() == [[True, False, True]]
    assert step(zeno(rho=0.0), *world).inspection.trusted.tolist() == [[True, True, False]]


def test_of_equal_scores_the_first_are_dropped_and_a_loss_that_is_no_number_is_the_worst() -> None:
    assert step(zeno(drop=2), *lonely([1.0] * 4, [0.0] * 4, 0)).inspection.trusted.tolist() == [
        [False] * 2 + [True] * 2
    ]
    unsure = lonely([1.0, float("nan"), 9.0, float("inf")], [0.0] * 4, malicious=2)
    assert step(zeno(), *unsure).inspection.trusted.tolist() == [[True, False, True, False]]


def test_if_all_are_dropped_the_own_belief_stays() -> None:
    at, sent, edges = lonely([1.0, 2.0], [5.0, 6.0], malicious=2)
    outcome = step(zeno(), at, sent, edges)
    assert outcome.social.mean.item() == 0.0
    assert not outcome.inspection.trusted.any()


def test_who_says_how_many_to_drop_need_not_be_told_and_bad_values_are_refused() -> None:
    assert zeno(drop=1).needs == {"loss", "previous"}
    for options in ({"samples": 0}, {"rho": -1.0}, {"drop": -1}):
        with pytest.raises(ValueError, match="must"):
            zeno(**options)


@given(seed=SEEDS, drop=st.integers(0, 4))
def test_one_receiver_at_a_time_as_the_paper_writes_it(seed: int, drop: int) -> None:
    at, sent, edges = world(seed)
    assert at.previous is not None
    assert at.loss is not None
    at = replace(at, malicious=torch.full((CLIENTS,), drop))
    outcome = step(zeno(rho=0.3), at, sent, edges)
    losses, before = at.loss(sent.mean, 20), at.loss(at.previous.mean, 20)
    for i in range(CLIENTS):
        scores = {}
        for j in edges[i].nonzero().flatten().tolist():
            far = (sent.mean[j] - at.previous.mean[i]).square().mean()
            scores[j] = float(before[i, i] - losses[i, j] - 0.3 * far)
        kept = sorted(scores, key=lambda j: scores[j])[drop:]
        assert outcome.inspection.trusted[i].nonzero().flatten().tolist() == sorted(kept)
        if kept:
            assert torch.allclose(outcome.social.mean[i], sent.mean[kept].mean(0), atol=1e-6)
            assert torch.allclose(outcome.social.rho[i], sent.rho[kept].mean(0), atol=1e-6)
        else:
            assert torch.equal(outcome.social.mean[i], at.social.mean[i])
