"""Rows that learn in C end where rows that learn in torch end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from surefed.core import Stream, native
from surefed.learn import Lesson, Network, Point, Rows, Variational
from surefed.learn.fast import plan_for
from surefed.learn.native import plan
from surefed.models import MODELS

pytestmark = pytest.mark.skipif(native.library() is None, reason="no C compiler on this machine")

ROWS, BATCHES = 5, 3
IMAGE = (2, 11, 9)
MODULES = {
    "linear": lambda: nn.Sequential(nn.Flatten(), nn.Linear(198, 10)),
    "no bias": lambda: nn.Sequential(nn.Flatten(), nn.Linear(198, 7, bias=False), nn.Tanh(), nn.Linear(7, 10)),
    "cnn": lambda: MODELS["cnn"](IMAGE, 10, hidden=13),
    "strides": lambda: nn.Sequential(
        nn.Conv2d(2, 5, (3, 2), stride=(2, 3), padding=(1, 2), bias=False), nn.ReLU(), nn.Conv2d(5, 9, 3, padding=2),
        nn.Tanh(), nn.MaxPool2d(3, 2), nn.ReLU(), nn.Flatten(), nn.Identity(), nn.Linear(54, 10),
    ),
    "to one pixel": lambda: nn.Sequential(
        nn.Conv2d(2, 17, (11, 9)), nn.ReLU(), nn.Flatten(), nn.Linear(17, 16), nn.ReLU(), nn.Linear(16, 10)
    ),
    "a filter larger than the image": lambda: nn.Sequential(
        nn.Conv2d(2, 3, 13, padding=6), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(60, 10)
    ),
    "wider than vectors": lambda: nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=(5, 14)), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(3, 11, (2, 3), padding=1),
        nn.ReLU(), nn.MaxPool2d((2, 2)), nn.Flatten(), nn.Linear(440, 18), nn.ReLU(), nn.Linear(18, 10),
    ),
}  # fmt: skip


def network(name: str) -> Network:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Network(MODULES[name]())


def lesson(size: int = 4) -> Lesson:
    rng = torch.Generator().manual_seed(1)
    inputs = torch.randn(40, *IMAGE, generator=rng)
    labels = torch.randint(10, (40,), generator=rng)
    batches = torch.randint(40, (ROWS, BATCHES, size), generator=rng)
    sizes = torch.tensor([40, 30, 20, 10, 5])
    return Lesson(inputs, labels, batches, sizes, Stream(0, "noise", range(ROWS)), round=7)


def both(learner: Any, given: Lesson, monkeypatch: pytest.MonkeyPatch, active: Tensor | None = None) -> list[Rows]:
    """The rows after two rounds: in C, and in torch."""
    ends = []
    for fast in (True, False):
        if not fast:
            monkeypatch.setattr("surefed.core.native.edges.library", lambda: None)
        rows = learner.init(learner.network.initial(), ROWS)
        assert (plan_for(learner.network, rows, given) is not None) is fast
        learner.learn(rows, given, active)
        learner.learn(rows, replace(given, round=8), active)
        ends.append(rows)
    monkeypatch.undo()
    return ends


def close(fast: Tensor, plain: Tensor, start: Tensor) -> None:
    """Within a ten-thousandth of the way gone."""
    off = (fast - plain).norm() / (plain - start).norm()
    assert off <= 1e-4


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("size", [1, 4, 5, 7])
def test_gradients_are_those_of_autograd(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Point(network(name), learning_rate=0.05, momentum=0.9)
    fast, plain = both(learner, lesson(size), monkeypatch)
    start = learner.network.initial()
    for one, other in zip(
        learner.network.split(fast.mean - start), learner.network.split(plain.mean - start), strict=True
    ):
        assert (one - other).norm() <= 1e-5 * other.norm()
    close(fast.moments[0], plain.moments[0], torch.zeros(()))
    assert torch.equal(fast.steps, plain.steps)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prior": "fixed", "prior_std": 0.3},
        {"kl_weights": "blundell", "kl_scale": 3.0},
        {"keep_moments": False},
        {"betas": (0.5, 0.9), "rho": 1.0},
    ],
    ids=str,
)
def test_beliefs_are_those_of_torch(name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    # A large epsilon: with a tiny one, Adam's first step is the sign of a gradient, which rounding decides near 0.
    learner = Variational(network(name), learning_rate=0.01, epsilon=1e-3, **options)
    fast, plain = both(learner, lesson(), monkeypatch)
    close(fast.mean, plain.mean, learner.network.initial())
    close(fast.rho, plain.rho, torch.tensor(learner.rho))
    for one, other in zip(fast.moments, plain.moments, strict=True):
        close(one, other, torch.zeros(()))
    assert torch.equal(fast.steps, plain.steps)


@pytest.mark.parametrize("window", [2, 3])
def test_of_equal_numbers_the_first_is_pooled(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # The filters see one pixel each, black or white: windows are full of equals, whose neighbours differ.
    filters = nn.Conv2d(2, 3, 3, padding=1)
    with torch.no_grad():
        filters.weight.zero_()
        filters.weight[:, :, 1, 1] = torch.tensor([[1.0, 0.5], [-0.5, 1.0], [0.5, -1.0]])
    head = nn.Linear(3 * (11 // window) * (9 // window), 10)
    learner = Point(Network(nn.Sequential(filters, nn.MaxPool2d(window), nn.Flatten(), head)), learning_rate=0.05)
    given = lesson()
    given = replace(given, inputs=(given.inputs > 0).float(), batches=given.batches[:, :1])
    fast, plain = both(learner, given, monkeypatch)
    close(fast.mean, plain.mean, learner.network.initial())


@pytest.mark.parametrize("window", [2, 3])
@pytest.mark.parametrize("place", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_a_nan_is_pooled_wherever_it_is(window: int, place: tuple[int, int]) -> None:
    head = nn.Linear(2 * (11 // window) * (9 // window), 10)
    learner = Point(Network(nn.Sequential(nn.MaxPool2d(window), nn.Flatten(), head)), learning_rate=0.05)
    given = lesson()
    given.inputs[:, 1, window + place[0], place[1]] = torch.nan
    rows = learner.init(learner.network.initial(), ROWS)
    learner.learn(rows, given)  # from NaN scores nothing is learned
    assert torch.equal(rows.mean, learner.network.initial().expand(ROWS, -1))


def test_inactive_rows_do_not_move(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Variational(network("cnn"))
    active = torch.tensor([True, False, True, False, True])
    fast, plain = both(learner, lesson(), monkeypatch, active)
    assert torch.equal(fast.mean[~active], learner.network.initial().expand(2, -1))
    assert fast.steps.tolist() == [6, 0, 6, 0, 6]
    close(fast.mean[active], plain.mean[active], learner.network.initial())


def test_threads_share_the_rows_and_change_nothing() -> None:
    learner, ends, before = Variational(network("cnn")), [], torch.get_num_threads()
    for threads in (1, 3):
        torch.set_num_threads(threads)
        rows = learner.init(learner.network.initial(), ROWS)
        learner.learn(rows, lesson())
        ends.append(rows)
    torch.set_num_threads(before)
    assert torch.equal(ends[0].mean, ends[1].mean)
    assert torch.equal(ends[0].rho, ends[1].rho)


@pytest.mark.parametrize("value", [1e30, -3e38])
def test_a_gradient_that_is_not_a_number_counts_as_zero(value: float) -> None:
    learner = Variational(network("cnn"))
    rows = learner.init(learner.network.initial(), ROWS)
    rows.mean[1, 3] = value
    learner.learn(rows, lesson())
    assert torch.isfinite(rows.mean[[0, 2, 3, 4]]).all()
    assert torch.isfinite(rows.rho).all()
    assert all(torch.isfinite(moment).all() for moment in rows.moments)


def test_what_it_does_not_know_is_left_to_torch() -> None:
    assert plan(nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.GELU(), nn.Linear(3, 2)), (4,)) is None
    assert plan(nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.Flatten(), nn.Linear(16, 2)), (2, 4, 4)) is None
    assert plan(nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU()), (2, 4, 4)) is None  # ends in an image
    twice = nn.Linear(3, 3)
    assert plan(nn.Sequential(twice, twice), (3,)) is None
    assert plan(nn.Sequential(nn.Linear(3, 2)), (3,)) is not None
    given = lesson()
    net = network("linear")
    rows = Variational(net).init(net.initial(), ROWS)
    assert plan_for(net, rows, replace(given, inputs=given.inputs.double())) is None
