from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import CLIENTS, step, world
from .test_krum import plain_order


def test_the_liar_is_left_out_of_the_mean() -> None:
    sent = Belief(torch.tensor([[0.0], [1.0], [1.5], [3.0], [100.0]]), torch.arange(5.0)[:, None])
    at = Receivers(sent, 0, 1, malicious=torch.ones(5, dtype=torch.int64))
    outcome = step(RULES["multi_krum"](), at, sent, torch.ones(5, 5) > 0)
    assert outcome.social.mean.flatten().tolist() == pytest.approx([5.5 / 4] * 5)
    assert outcome.inspection.trusted.tolist() == [[True, True, True, True, False]] * 5


def test_one_chosen_is_krum_and_all_chosen_are_the_mean() -> None:
    at, sent, edges = world(2)
    krum, mean = (step(RULES[name](), at, sent, edges).social.mean for name in ("krum", "fedavg"))
    assert torch.equal(step(RULES["multi_krum"](chosen=1), at, sent, edges).social.mean, krum)
    assert torch.allclose(step(RULES["multi_krum"](chosen=99), at, sent, edges).social.mean, mean, atol=1e-6)
    assert torch.allclose(step(RULES["multi_krum"](malicious=0), at, sent, edges).social.mean, mean, atol=1e-6)


def test_against_one_receiver_at_a_time() -> None:
    for seed in range(20):
        at, sent, edges = world(seed, density=0.5)
        at = replace(at, malicious=torch.arange(CLIENTS) % 4)
        edges[5] = False
        outcome = step(RULES["multi_krum"](), at, sent, edges)
        for i in range(CLIENTS):
            heard = edges[i].nonzero().flatten().tolist()
            picked = plain_order(at.social.mean[i], sent.mean, heard, i % 4)[: max(len(heard) - i % 4, 1)]
            assert outcome.inspection.trusted[i].nonzero().flatten().tolist() == sorted(picked)
            plain = sent.mean[picked].mean(0) if picked else at.social.mean[i]
            assert torch.allclose(outcome.social.mean[i], plain, atol=1e-6)


@pytest.mark.parametrize("bad", [{"malicious": -1}, {"chosen": 0}])
def test_a_bad_option_is_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        RULES["multi_krum"](**bad)
