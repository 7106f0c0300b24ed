from __future__ import annotations

import torch
from torch import Tensor, nn

from surefed.core import Stream
from surefed.learn import Lesson, Network, Rows, Variational
from surefed.learn.half import keep


def kept(value: float, dither: Tensor) -> Tensor:
    into = torch.empty(len(dither), dtype=torch.bfloat16)
    keep(torch.full((len(dither),), value), into, dither)
    return into.float()


def test_what_is_rounded_at_random_is_right_on_average() -> None:
    # Between 1 and 2, bfloat16 has steps of 2^-7. 1 + 2^-7 / 4 lies a quarter of the way up, and of the 65 536 dithers
    # a quarter carries; the mean of all is the number itself. The same below 0, and for numbers far from 1.
    dithers = torch.arange(65536)
    for scale in (1.0, -1.0, 2.0**-60, -(2.0**40)):
        found = kept(scale * (1 + 2.0**-9), dithers)
        assert (found == scale * (1 + 2.0**-7)).sum() == 65536 // 4
        assert (found == scale).sum() == 65536 * 3 // 4
        assert found.double().mean().item() == scale * (1 + 2.0**-9)


def test_what_fits_is_kept_as_it_is() -> None:
    for value in (0.0, 1.0, -3.5, 2.0**-100):
        assert (kept(value, torch.arange(65536)) == value).all()


def test_a_second_moment_decays() -> None:
    # A thousand steps of x 0.999 leave 0.368; rounded to the nearest, the first of them is already undone.
    moment, rng = torch.ones(2000, dtype=torch.bfloat16), torch.Generator().manual_seed(0)
    assert (moment.float() * 0.999).bfloat16().eq(1).all()
    for _ in range(1000):
        keep(moment.float() * 0.999, moment, torch.randint(65536, (2000,), generator=rng))
    assert abs(moment.float().mean().item() - 0.999**1000) < 0.005


def learned(moments: str, rounds: int = 20) -> Rows:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = Network(nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)))
    rng = torch.Generator().manual_seed(1)
    inputs, labels = torch.randn(20, 6, generator=rng), torch.randint(3, (20,), generator=rng)
    batches, noise = torch.randint(20, (2, 3, 4), generator=rng), Stream(0, "noise", range(2))
    learner = Variational(network, learning_rate=0.01, moments=moments)  # type: ignore[arg-type]
    rows = learner.init(network.initial(), 2)
    for round in range(rounds):
        learner.learn(rows, Lesson(inputs, labels, batches, torch.tensor([20, 20]), noise, round))
    return rows


def test_a_learner_with_half_the_memory_goes_nearly_the_same_way() -> None:
    whole, half = learned("float32"), learned("bfloat16")
    start = learned("float32", rounds=0)
    assert all(moment.dtype == torch.bfloat16 for moment in half.moments)
    assert all(moment.dtype == torch.float32 for moment in whole.moments)
    assert 0 < (half.mean - whole.mean).norm() < 0.05 * (whole.mean - start.mean).norm()
    assert torch.equal(half.mean, learned("bfloat16").mean)
