from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from surefed.core import Belief
from surefed.rules import RULES, Receivers

from .test_contract import CLIENTS, step, world


def test_own_value_counts_beside_what_is_left_of_the_neighbours() -> None:
    """b = 1 leaves 1, 3 and 5 of five neighbours: (7 + 1 + 3 + 5) / 4; a deaf receiver stays where it is."""
    sent = Belief(torch.tensor([[-1000.0], [1.0], [3.0], [5.0], [1000.0]]), torch.zeros(5, 1))
    own = Belief(torch.tensor([[7.0], [7.0], [7.0]]), torch.zeros(3, 1))
    edges = torch.tensor([[True] * 5, [False, True, True, False, False], [False] * 5])
    at = Receivers(own, 0, 1, malicious=torch.tensor([1, 1, 1]))
    found = step(RULES["bridge"](), at, sent, edges).social.mean.flatten().tolist()
    assert found == pytest.approx([4.0, (7 + 1 + 3) / 3, 7.0])  # two neighbours: nobody can be dropped


def test_against_one_receiver_at_a_time() -> None:
    for seed in range(20):
        at, sent, edges = world(seed, density=0.5)
        at = replace(at, malicious=torch.arange(CLIENTS) % 4)
        found = step(RULES["bridge"](), at, sent, edges).social
        for i in range(CLIENTS):
            count = int(edges[i].sum())
            cut = min(i % 4, (count - 1) // 2)
            left = sent.mean[edges[i]].sort(0).values[cut : count - cut]
            plain = torch.cat([left, at.social.mean[i : i + 1]]).mean(0)
            assert torch.allclose(found.mean[i], plain, atol=1e-6)
            assert torch.allclose(found.rho[i], sent.rho[edges[i]].mean(0), atol=1e-5)


def test_a_bad_option_is_refused() -> None:
    assert not RULES["bridge"](trim=1).needs
    with pytest.raises(ValueError, match="0 or more"):
        RULES["bridge"](trim=-1)
