from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import CLIENTS, step, world


def test_the_extremes_are_dropped_as_many_as_there_are_liars() -> None:
    sent = Belief(torch.tensor([[0.0], [1.0], [3.0], [5.0], [1000.0]]), torch.zeros(5, 1))
    at = Receivers(sent, 0, 1, malicious=torch.tensor([0, 1, 2, 4, 1]))
    edges = torch.tensor([[True] * 5] * 4 + [[True, True, True, True, False]])
    found = step(RULES["trimmed_mean"](), at, sent, edges).social.mean.flatten().tolist()
    assert found == pytest.approx([1009 / 5, 3.0, 3.0, 3.0, 2.0])  # four liars of five: cut to two


def test_dropping_none_is_the_mean_and_dropping_all_it_can_is_the_median() -> None:
    at, sent, edges = world(3)
    mean, median = (step(RULES[name](), at, sent, edges).social.mean for name in ("fedavg", "median"))
    assert torch.allclose(step(RULES["trimmed_mean"](trim=0), at, sent, edges).social.mean, mean, atol=1e-6)
    assert torch.allclose(step(RULES["trimmed_mean"](trim=99), at, sent, edges).social.mean, median, atol=1e-6)


def test_against_one_receiver_at_a_time() -> None:
    for seed in range(20):
        at, sent, edges = world(seed, density=0.5)
        at = replace(at, malicious=torch.arange(CLIENTS) % 4)
        found = step(RULES["trimmed_mean"](), at, sent, edges).social
        for i in range(CLIENTS):
            count = int(edges[i].sum())
            cut = min(i % 4, (count - 1) // 2)
            plain = sent.mean[edges[i]].sort(0).values[cut : count - cut].mean(0)
            assert torch.allclose(found.mean[i], plain, atol=1e-6)
            assert torch.allclose(found.rho[i], sent.rho[edges[i]].mean(0), atol=1e-5)


def test_it_need_not_be_told_what_it_is_given() -> None:
    assert RULES["trimmed_mean"]().needs == {"malicious"}
    assert not RULES["trimmed_mean"](trim=2).needs
    with pytest.raises(ValueError, match="0 or more"):
        RULES["trimmed_mean"](trim=-1)
