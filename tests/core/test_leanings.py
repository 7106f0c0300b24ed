"""Leanings: sketches, who has a place, and every step against plain loops."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefed.core import leanings, pushes
from surefed.core.leanings import SKETCH, begin, lean, seated, signs, sketch

SEEDS = st.integers(0, 2**20)


def test_a_sketch_is_signed_sums_of_every_256th_weight() -> None:
    means, drawn = torch.randn(3, 700), signs(1, 700)[0]
    wanted = [[0.0] * SKETCH for _ in range(3)]
    for row, line in zip(means.tolist(), wanted, strict=True):
        for at, value in enumerate(row):
            line[at % SKETCH] += value * int(drawn[at])
    assert torch.allclose(sketch(means, drawn), torch.tensor(wanted), atol=1e-5)
    assert torch.equal(sketch(means[:, :5], drawn[:5])[:, :5], means[:, :5] * drawn[:5])


def test_products_of_sketches_are_those_of_the_vectors() -> None:
    """On average over the signs, and in one of twenty to twice 1 / sqrt(256) of the lengths."""
    one, other = torch.randn(2, 5000, generator=torch.Generator().manual_seed(0)) + 0.5
    off = []
    for secret in range(200):
        a, b = sketch(torch.stack((one, other)), signs(1, 5000, secret)[0])
        off.append(float(a @ b - one @ other) / float(one.norm() * other.norm()))
    assert abs(sum(off) / 200) < 4 / math.sqrt(SKETCH * 200)
    assert sum(abs(value) > 2 / math.sqrt(SKETCH) for value in off) <= 20


@given(seed=SEEDS, share=st.sampled_from([0.1, 0.7]))
def test_leanings_are_those_of_a_plain_loop(seed: int, share: float) -> None:
    """Where a tenth of the pairs count, only these are looked at."""
    rng = torch.Generator().manual_seed(seed)
    before = begin(3, 4, 300)._replace(
        leaning=torch.randn(3, 5, SKETCH, generator=rng), felt=torch.rand(3, 5, generator=rng)
    )
    previous, learned = (torch.randn(3, 300, generator=rng) for _ in range(2))
    sent = torch.randn(4, 300, generator=rng) * torch.tensor([1.0, 10.0, 0.1, 1.0])[:, None]
    longest, felt = 5 + 30 * torch.rand(3, 1, generator=rng), torch.rand(3, 4, generator=rng) < share
    company = torch.tensor([[True], [False], [share > 0.5]])
    leaning, told = lean(before, previous, learned, sent, longest, felt, company)
    drawn = before.signs[0]
    for i in range(3):
        for j in range(5):
            message = learned[i] if j == 4 else sent[j]
            counts = bool(company[i]) and (j == 4 or bool(felt[i, j]))
            push = sketch(message[None], drawn)[0] - sketch(previous[i : i + 1], drawn)[0]
            push *= min(1.0, float(longest[i]) / float(push.norm()))
            wanted = 0.98 * before.leaning[i, j] + 0.02 * push if counts else before.leaning[i, j]
            assert torch.allclose(leaning[i, j], wanted, atol=1e-4)
            assert float(told[i, j]) == pytest.approx(
                0.98 * float(before.felt[i, j]) + 0.02 if counts else float(before.felt[i, j]), abs=1e-6
            )


def test_a_lie_of_3e38_leaves_numbers() -> None:
    before = begin(1, 2, 300)
    sent = torch.tensor([[3e38], [-3e38]]).expand(-1, 300)
    everybody = torch.ones(1, 2, dtype=torch.bool)
    leaning, _ = lean(
        before, torch.zeros(1, 300), torch.ones(1, 300), sent, torch.ones(1, 1), everybody, everybody[:, :1]
    )
    assert leaning.isfinite().all()
    assert leaning.norm(dim=2).max() <= 0.0201


def test_without_camps_nothing_is_kept() -> None:
    record = pushes.begin(3, 4, 1000, parts=False)
    assert record.leaning.numel() == record.signs.numel() == 0
    assert not record.out.any()


def test_seats_by_hand() -> None:
    """Seats of 3, nobody and 0; 3 is not heard now. 1, 2 and 4 lean anew: the empty seat, that of 3, and none."""
    hears = torch.tensor([[True, True, True, False, True]])
    seats = torch.tensor([[3, -1, 0]], dtype=torch.int32)
    felt = torch.tensor([[True, True, True, False, True]])
    assert seated(seats, hears, felt).tolist() == [[2, 1, 0]]
    assert seated(seats, hears, felt & False).tolist() == [[3, -1, 0]]


@given(seed=SEEDS)
def test_seats_are_those_of_a_plain_loop(seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    seats = torch.stack([torch.randperm(9, generator=rng)[:4] for _ in range(5)]).int()
    seats[torch.rand(5, 4, generator=rng) < 0.3] = -1
    hears = torch.rand(5, 9, generator=rng) < 0.6
    felt = hears & (torch.rand(5, 9, generator=rng) < 0.6)
    wanted = seats.tolist()
    for row, mine in enumerate(wanted):
        waiting = [j for j in range(9) if felt[row, j] and j not in mine]
        unheard = [at for at, j in enumerate(mine) if j >= 0 and not hears[row, j]]
        for at, j in zip([at for at, j in enumerate(mine) if j < 0] + unheard, waiting, strict=False):
            mine[at] = j
    assert seated(seats, hears, felt).tolist() == wanted


def test_a_new_sender_begins_with_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is not heard any more loses its seat to one that is, and what was known of it."""
    monkeypatch.setattr(leanings, "ROOM", 0)
    monkeypatch.setattr(leanings, "SEATS", 2)
    record = pushes.begin(1, 4, 10)._replace(heard=torch.ones(1, 4, dtype=torch.bool))
    still, told = torch.zeros(1, 10), torch.ones(4, 10)
    for heard in ([True, True, False, False], [True, False, False, True]):
        hears = torch.tensor([heard])
        record = pushes.weigh(record, still, told[:1], told, hears, hears, against=0.0, ahead=0.0)
        record = pushes.part(record, still, told[:1], told, hears, alike=0.75)
    assert record.seats.tolist() == [[0, 3]]
    assert record.felt[0].tolist() == pytest.approx([1 - 0.98**2, 0.02, 1 - 0.98**2])
