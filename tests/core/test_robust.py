from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefed.core.robust import (
    at_most,
    best,
    between_senders,
    clip_weights,
    from_own,
    from_products,
    half,
    krum_scores,
    mix,
    norms,
    products,
    squared_distances,
    trimmed,
    uniform,
)

SEEDS = st.integers(0, 2**20)


@given(SEEDS)
def test_distances_from_inner_products_are_distances(seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    own, sent = torch.randn(4, 300, generator=rng), torch.randn(6, 300, generator=rng)
    keep, weight = torch.rand(4, 1, generator=rng).double(), torch.rand(4, 6, generator=rng).double()
    known = products(own, sent)
    mixed = keep * own.double() + weight @ sent.double()
    assert torch.allclose(from_own(known), torch.cdist(own.double(), sent.double()).square())
    assert torch.allclose(squared_distances(known, keep, weight), torch.cdist(mixed, sent.double()).square())
    apart = between_senders(known)
    assert torch.allclose(apart, torch.cdist(sent.double(), sent.double()).square(), atol=1e-9)
    assert torch.equal(apart, apart.T)
    assert torch.allclose(norms(own, minus=sent[:4])[:, 0], (own.double() - sent[:4].double()).norm(dim=1))


def test_a_distance_is_never_below_zero_nor_infinite() -> None:
    rows = torch.cat([torch.full((2, 1000), 3e38), torch.full((1, 1000), -3e38), torch.full((3, 1000), 0.1)])
    known = products(rows, rows)
    for squared in (from_own(known), between_senders(known), squared_distances(known, *uniform(torch.ones(6, 6) > 0))):
        assert squared.isfinite().all()
        assert (squared >= 0).all()


def test_a_mix_of_huge_numbers_is_finite_and_nobody_heard_is_oneself() -> None:
    own, sent = torch.tensor([[1.0], [2.0]]), torch.full((4, 1), 3e38)
    heard = torch.tensor([[True] * 4, [False] * 4])
    assert mix(own, sent, *uniform(heard)).flatten().tolist() == pytest.approx([3e38, 2.0])


def test_clipping_goes_no_further_than_the_radius() -> None:
    heard = torch.tensor([[True, True, False, True]])
    weight = clip_weights(torch.tensor([[0.0, 4.0, 1.0, 100.0]], dtype=torch.float64), heard, 5.0)
    assert weight.tolist() == [pytest.approx([1 / 3, 1 / 3, 0.0, 1 / 6])]
    assert clip_weights(torch.tensor([[4.0]]), heard[:, :1], torch.zeros(1, 1)).item() == 0.0


def test_counts_are_cut_to_what_can_be_dropped() -> None:
    heard = torch.ones(6, 6).tril(-1).bool()  # hears 0, 1, ..., 5
    assert half(heard).tolist() == [0, 0, 0, 1, 1, 2]
    assert at_most(4, half(heard)).tolist() == [0, 0, 0, 1, 1, 2]
    assert at_most(torch.tensor([0, 0, 0, 0, 3, 1]), half(heard)).tolist() == [0, 0, 0, 0, 1, 1]


@given(SEEDS)
def test_trimmed_against_sorting_every_receiver(seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    values = torch.randint(-3, 4, (7, 200), generator=rng).float()  # many ties
    heard = torch.rand(5, 7, generator=rng) < 0.6
    drop = at_most(torch.randint(0, 4, (5,), generator=rng), half(heard))
    own = torch.randn(5, 200, generator=rng)
    found = trimmed(values, heard, drop, otherwise=own)
    for i in range(5):
        count, cut = int(heard[i].sum()), int(drop[i])
        plain = values[heard[i]].sort(0).values[cut : count - cut].mean(0) if count else own[i]
        assert torch.allclose(found[i], plain, atol=1e-6)


def test_trimming_many_weights_in_tiles() -> None:
    values = torch.arange(5.0)[:, None] * torch.linspace(-1, 1, 200_001)
    found = trimmed(values, torch.ones(5, 5) > 0, torch.ones(5, dtype=torch.int64), torch.zeros(5, 200_001))
    assert torch.allclose(found, values[2].expand(5, -1))


def test_scores_and_the_best_of_them_on_a_line() -> None:
    """Senders at 0, 1, 3, 100, not heard 2: with f = 0 the two closest of 4 - 2 count."""
    sent = torch.tensor([[0.0], [1.0], [3.0], [100.0], [2.0]])
    known, heard = products(torch.tensor([[0.9]]), sent), torch.tensor([[True, True, True, True, False]])
    scores = krum_scores(known, heard, 0)
    assert scores.tolist() == [[1 + 9, 1 + 4, 4 + 9, 97**2 + 99**2, math.inf]]
    assert best(scores, known, heard, 2).tolist() == [[True, True, False, False, False]]
    assert best(torch.zeros(1, 5), known, heard, 1).tolist() == [[False, True, False, False, False]]
    assert best(scores, known, heard, 9).tolist() == heard.tolist()


def test_squared_distances_from_products_are_those_of_differences(rng: torch.Generator) -> None:
    own, sent = torch.randn(3, 40, generator=rng), torch.randn(4, 40, generator=rng)
    sent[0], sent[1] = own[2], 1e25
    expected = (own.double()[:, None] - sent.double()).square().sum(-1)
    torch.testing.assert_close(from_products(own, sent), expected, rtol=1e-12, atol=1e-12)
