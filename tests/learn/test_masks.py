"""Dropout: whose numbers, when, and how many."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from surefed.core import Belief, DataError, Stream
from surefed.learn import Lesson, Masks, Network, Point, Variational, predict

OWNERS = ["ann", "bob", "cid"]


def masks(owners: list[str] = OWNERS, round: int = 2, draw: int = 1) -> Masks:
    return Masks(Stream(7, "noise", owners), round, draw)


def identity(*layers: nn.Module) -> Network:
    """A network that gives back what its random layers left of its inputs."""
    unit = nn.Linear(8, 8, bias=False)
    unit.weight.data.copy_(torch.eye(8))
    return Network(nn.Sequential(*layers, unit))


def left(network: Network, given: Masks | None, rows: int = 3) -> Tensor:
    return network.apply(network.split(network.initial().repeat(rows, 1)), torch.ones(rows, 5, 8), masks=given)


def test_what_is_kept_is_scaled_and_prediction_keeps_everything() -> None:
    network = identity(nn.Dropout(0.25))
    assert network._plan is not None
    seen = left(network, masks())
    assert seen.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert torch.equal(left(network, None), torch.ones(3, 5, 8))
    many = network.apply(network.split(network.initial()[None]), torch.ones(1, 20_000, 8), masks=masks(["ann"]))
    assert (many == 0).float().mean().item() == pytest.approx(0.25, abs=0.005)


def test_masks_follow_the_owner_not_the_rows_beside_it() -> None:
    network = identity(nn.Dropout(0.5), nn.Dropout(0.5))
    together = left(network, masks())
    mixed = left(network, masks(["cid", "ann", "bob"]))
    assert torch.equal(together[[2, 0, 1]], mixed)
    for at, owner in enumerate(OWNERS):
        assert torch.equal(together[at], left(network, masks([owner]), rows=1)[0])


def test_rows_rounds_draws_and_layers_differ() -> None:
    network = identity(nn.Dropout(0.5))
    seen = [left(network, masks(round=at, draw=draw)) for at in (0, 1) for draw in (0, 1)]
    rows = torch.cat([one.flatten(1) for one in seen])  # 12 of 40 numbers
    assert len(rows.unique(dim=0)) == 12
    twice = identity(nn.Dropout(0.5), nn.Dropout(0.5))
    share = (twice.apply(twice.split(twice.initial()[None]), torch.ones(1, 5000, 8), masks=masks(["ann"])) > 0).float()
    assert share.mean().item() == pytest.approx(0.25, abs=0.02), "two layers are independent"


def test_masks_never_use_the_numbers_of_the_weight_noise() -> None:
    stream = Stream(7, "noise", ["ann"])
    mask = Masks(stream, 0, 0).uniform(64)
    assert not any(torch.equal(mask, stream.uniform(64, draw=draw)) for draw in range(50))


def test_whole_channels_are_left_out() -> None:
    network = Network(nn.Sequential(nn.Dropout2d(0.5), nn.Flatten(), nn.Linear(3 * 4, 12, bias=False)))
    flat = torch.eye(12).flatten().repeat(2, 1)
    seen = network.apply(network.split(flat), torch.ones(2, 50, 3, 2, 2), masks=masks(["ann", "bob"]))
    channels = seen.view(2, 50, 3, 4)
    assert ((channels == 0).all(-1) | (channels == 2).all(-1)).all()
    assert 0.3 < (channels == 0).float().mean() < 0.7


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (1.0, 0.0)])
def test_nothing_and_everything(share: float, expected: float) -> None:
    assert (left(identity(nn.Dropout(share)), masks()) == expected).all()


class Wild(nn.Module):
    """Of somebody's own, with dropout called as a function: it goes through vmap."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8, bias=False)
        self.inner.weight.data.copy_(torch.eye(8))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(F.dropout(x, 0.5, self.training))
        return out


def test_an_unknown_module_draws_differently_for_each_row_and_repeats() -> None:
    network = Network(Wild())
    assert network._plan is None
    before = torch.get_rng_state()
    seen = left(network, masks())
    assert torch.equal(torch.get_rng_state(), before), "torch's generator is left as it was"
    assert set(seen.unique().tolist()) == {0.0, 2.0}
    assert len(seen.flatten(1).unique(dim=0)) == 3
    assert torch.equal(seen, left(network, masks()))
    assert not torch.equal(seen, left(network, masks(draw=2)))
    assert torch.equal(left(network, None), torch.ones(3, 5, 8))
    assert network.module.training, "left in the mode it was given in"


class Restless(nn.Module):
    """Random even in prediction."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(F.dropout(x, 0.5))
        return out


def test_a_module_that_is_random_in_prediction_is_refused() -> None:
    with pytest.raises(DataError, match="random operation"):
        Network(Restless()).check(torch.zeros(2, 8), 2)


class Attentive(nn.Module):
    """Attention with dropout, whose prediction torch would fuse."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.last = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(self.layer(x).mean(1))
        return out


def test_attention_runs_through_vmap_in_both_modes() -> None:
    torch.manual_seed(0)
    module = Attentive()
    network = Network(module)
    network.check(torch.zeros(2, 5, 8), 3)
    inputs, weights = torch.randn(2, 4, 5, 8), network.split(network.initial().repeat(2, 1))
    predicted = network.apply(weights, inputs)
    assert torch.allclose(predicted[1], module.eval()(inputs[1]), atol=1e-5)
    assert not torch.allclose(network.apply(weights, inputs, masks=masks(["ann", "bob"])), predicted, atol=1e-3)
    assert torch.backends.mha.get_fastpath_enabled(), "left as it was"
    assert network.kept(inputs[0]) > 5 * 8 * 5, "several values for each number of the input"


def lesson(rows: int) -> Lesson:
    rng = torch.Generator().manual_seed(1)
    inputs, labels = torch.randn(30, 8, generator=rng), torch.randint(0, 8, (30,), generator=rng)
    seen = torch.randint(0, 30, (rows, 3, 5), generator=rng)
    return Lesson(inputs, labels, seen, torch.full((rows,), 30), Stream(0, "noise", range(rows)), round=6)


@pytest.mark.parametrize("kind", [Variational, Point])
def test_learning_with_dropout_does_not_depend_on_blocks(
    kind: type[Variational] | type[Point], monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = kind(identity(nn.Dropout(0.5)))
    together, plain = learner.init(learner.network.initial(), 4), kind(identity()).init(learner.network.initial(), 4)
    learner.learn(together, lesson(4))
    kind(identity()).learn(plain, lesson(4))
    assert not torch.allclose(together.mean, plain.mean), "dropout is on while training"
    monkeypatch.setattr("surefed.learn.base.BLOCK", 1)
    alone = learner.init(learner.network.initial(), 4)
    learner.learn(alone, lesson(4), active=torch.tensor([True, True, False, True]))
    assert torch.allclose(together.mean[[0, 1, 3]], alone.mean[[0, 1, 3]], atol=1e-7)


def test_prediction_is_without_dropout() -> None:
    belief = Belief(identity().initial()[None], torch.zeros(1, 64))
    inputs = torch.randn(4, 8)
    assert torch.equal(predict(identity(nn.Dropout(0.5)), belief, inputs), predict(identity(), belief, inputs))
