from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from surefed.core import Stream, generator
from surefed.core.streams import key, philox, seeding_torch


@pytest.mark.parametrize(
    ("counter", "keys", "words"),
    [  # known answers published with Random123 (Salmon et al. 2011), philox4x32-10
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_known_answers(counter: tuple[int, ...], keys: tuple[int, ...], words: tuple[int, ...]) -> None:
    c0, c1, c2, c3 = (torch.tensor([[word]]) for word in counter)
    k0, k1 = (torch.tensor([[word]]) for word in keys)
    assert tuple(word.item() for word in philox((c0, c1, c2, c3), (k0, k1))) == words


def test_a_number_depends_on_its_address_only() -> None:
    every = Stream(7, "noise", ["a", "b", "c"])
    alone = Stream(7, "noise", ["b"])
    assert torch.equal(every.normal(1000, round=3, draw=2)[1], alone.normal(1000, round=3, draw=2)[0])
    assert torch.equal(every.normal(1000, round=3)[:, :77], every.normal(77, round=3))
    assert torch.equal(every[torch.tensor([2, 0])].bits(9), every.bits(9)[[2, 0]])


def test_any_part_of_the_address_changes_the_numbers() -> None:
    base = Stream(1, "noise", ["a"]).bits(64)
    others = [
        Stream(2, "noise", ["a"]).bits(64),
        Stream(1, "order", ["a"]).bits(64),
        Stream(1, "noise", ["b"]).bits(64),
        Stream(1, "noise", ["a"]).bits(64, round=1),
        Stream(1, "noise", ["a"]).bits(64, draw=1),
    ]
    assert all((other != base).float().mean() > 0.95 for other in others)


def test_normal_numbers_are_normal() -> None:
    drawn = Stream(0, "noise", range(20)).normal(50_000).double().flatten()
    count = drawn.numel()
    assert abs(drawn.mean().item()) < 4 / math.sqrt(count)
    assert drawn.std().item() == pytest.approx(1.0, abs=4 / math.sqrt(2 * count))
    assert drawn.pow(3).mean().abs().item() < 4 * math.sqrt(15 / count)
    assert drawn.pow(4).mean().item() == pytest.approx(3.0, abs=4 * math.sqrt(96 / count))
    below = (drawn < 1.0).double().mean().item()
    assert below == pytest.approx(0.8413447, abs=4 * math.sqrt(0.8413 * 0.1587 / count))
    neighbours = (drawn[1:] * drawn[:-1]).mean().abs().item()
    assert neighbours < 4 / math.sqrt(count)


def test_uniform_numbers_lie_inside_and_fill_the_interval() -> None:
    drawn = Stream(0, "uniform", range(20)).uniform(100_000)
    assert drawn.min() > 0
    assert drawn.max() < 1
    counts = torch.histc(drawn, bins=20, min=0, max=1)
    assert ((counts - 100_000) ** 2 / 100_000).sum().item() < 43.8  # 99.9 % of chi-squared, 19 degrees of freedom


def test_the_largest_word_stays_below_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stream, "bits", lambda self, count, **_: torch.full((1, count), 0xFFFFFFFF))
    assert Stream(0, "uniform", ["a"]).uniform(1).item() < 1


def test_order_is_a_permutation_of_each_owners_samples() -> None:
    sizes = torch.tensor([5, 1, 9])
    order = Stream(0, "order", range(3)).order(sizes, round=4)
    for row, size in enumerate(sizes.tolist()):
        assert sorted(order[row, :size].tolist()) == list(range(size))
    alone = Stream(0, "order", [0]).order(sizes[:1], round=4)
    assert torch.equal(order[0, :5], alone[0])


def test_every_order_is_equally_likely() -> None:
    orders = Stream(0, "order", range(6000)).order(torch.full((6000,), 3))
    _, counts = orders.unique(dim=0, return_counts=True)
    assert len(counts) == 6
    assert ((counts - 1000.0) ** 2 / 1000.0).sum().item() < 20.5  # 99.9 % of chi-squared, 5 degrees of freedom


def test_names_are_stable_for_ever() -> None:
    """A changed name would change every published result."""
    assert key(0, "noise", "a") == 0x212F95F0106FC8AA
    assert generator(0, "split").integers(1000) == 50


def test_threads_take_turns_at_torchs_own_generator() -> None:
    def drawn(seed: int) -> float:
        with seeding_torch(seed):
            time.sleep(0.001)  # somebody else would seed it anew meanwhile
            return float(torch.rand(()))

    alone = [drawn(seed) for seed in range(20)]
    before = torch.get_rng_state()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(drawn, range(20))) == alone
    assert torch.equal(torch.get_rng_state(), before)
