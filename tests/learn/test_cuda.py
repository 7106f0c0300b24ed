"""The kernels for GPUs give what torch gives: on the GPU where there is one, else interpreted where Triton is."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="Triton is not installed; it comes with torch's CUDA builds")

from surefed.core import Belief, Stream, cuda
from surefed.learn import Lesson, Network, Point, Variational, outputs, predict
from surefed.learn.base import blocks
from surefed.learn.cuda import chain, knows, launch, learn, pooled
from surefed.learn.cuda.convolution import convolution
from surefed.learn.cuda.norm import group_norm
from surefed.learn.cuda.norm import knows as knows_norm
from surefed.learn.native import Recipe, plan
from surefed.learn.native.plan import LINEAR, Layer

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROWS, IMAGE = 3, (2, 11, 9)
MODULES = {
    "no bias": lambda: nn.Sequential(nn.Flatten(), nn.Linear(198, 7, bias=False), nn.Tanh(), nn.Linear(7, 10)),
    "cnn": lambda: nn.Sequential(
        nn.Conv2d(2, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5, padding=2), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 10),
    ),
    "strides": lambda: nn.Sequential(
        nn.Conv2d(2, 5, (3, 2), stride=(2, 3), padding=(1, 2), bias=False), nn.ReLU(), nn.Conv2d(5, 9, 3, padding=2),
        nn.Tanh(), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(108, 10),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("kind", ["point", "streaming", "fixed"])
def test_two_rounds_are_those_of_torch(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefed.learn.fast.plan_for", lambda *_: None)  # the learner itself stays in torch
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = Network(MODULES[name]().to(DEVICE))
    layers = plan(network.module, IMAGE)
    assert layers is not None
    assert knows(layers)
    rng = torch.Generator().manual_seed(1)
    inputs, labels = torch.randn(40, *IMAGE, generator=rng), torch.randint(10, (40,), generator=rng)
    batches, sizes = torch.randint(40, (ROWS, 3, 4), generator=rng), torch.tensor([40, 30, 20])
    noise = Stream(0, "noise", range(ROWS), DEVICE)
    lesson = Lesson(*(value.to(DEVICE) for value in (inputs, labels, batches, sizes)), noise, round=7)
    learner: Any = Point(network, 0.05, 0.9)
    recipe = Recipe(0.05, True, momentum=0.9)
    if kind != "point":
        prior: dict[str, Any] = {"prior": "fixed", "prior_std": 0.3, "keep_moments": False} if kind == "fixed" else {}
        learner = Variational(network, learning_rate=0.01, epsilon=1e-3, **prior)
        recipe = learner._recipe(lesson)
    start = network.initial().to(DEVICE)
    plain, fast = learner.init(start, ROWS), learner.init(start, ROWS)
    for round in (7, 8):
        now = replace(lesson, round=round, batches=lesson.batches.roll(round, 1))
        learner.learn(plain, now)
        learn(network, layers, fast, now, recipe)
    assert (fast.mean - plain.mean).norm() <= 1e-4 * (plain.mean - start).norm()
    assert (fast.rho - plain.rho).norm() <= 1e-4 * (plain.rho - learner.rho).norm()
    assert torch.equal(fast.steps, plain.steps)


@pytest.mark.parametrize(("moments", "near"), [("float32", 1e-4), ("bfloat16", 1e-2)])
def test_slopes_by_torch_are_updated_by_the_kernel(moments: Any, near: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefed.learn.fast.plan_for", lambda *_: None)
    network = Network(nn.Sequential(nn.Linear(6, 5), nn.Dropout(0.5), nn.GELU(), nn.Linear(5, 3)).to(DEVICE))
    rng = torch.Generator().manual_seed(1)
    inputs, labels = torch.randn(20, 6, generator=rng), torch.randint(3, (20,), generator=rng)
    batches, sizes = torch.randint(20, (ROWS, 3, 4), generator=rng), torch.tensor([20, 20, 20])
    noise = Stream(0, "noise", range(ROWS), DEVICE)
    lesson = Lesson(*(value.to(DEVICE) for value in (inputs, labels, batches, sizes)), noise, round=7)
    learner = Variational(network, learning_rate=0.01, epsilon=1e-3, moments=moments)
    start = network.initial().to(DEVICE)
    plain, fast = learner.init(start, ROWS), learner.init(start, ROWS)
    for part in blocks(network, plain, lesson, None):
        learner._learn_block(plain[part], lesson, part)
    learn(network, None, fast, lesson, learner._recipe(lesson))
    assert (fast.mean - plain.mean).norm() <= near * (plain.mean - start).norm()
    assert (fast.rho - plain.rho).norm() <= near * (plain.rho - learner.rho).norm()
    assert fast.moments[0].dtype == plain.moments[0].dtype
    same = [(one == other).float().mean().item() for one, other in zip(fast.moments, plain.moments, strict=True)]
    assert moments == "float32" or min(same) > 0.9  # the same bits to round by


@pytest.mark.parametrize(("stride", "padding", "bias"), [(1, 1, True), (2, 1, False), ((2, 1), (0, 3), True)])
def test_a_convolution_is_that_of_torch(stride: Any, padding: Any, bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    module = nn.Conv2d(3, 5, 3, stride=stride, padding=padding, bias=bias)
    rng = torch.Generator().manual_seed(0)
    values = torch.randn(2, 2, 3, 6, 5, generator=rng).to(DEVICE).requires_grad_()
    weight = torch.randn(2, 5, 3, 3, 3, generator=rng).to(DEVICE).requires_grad_()
    own = torch.randn(2, 5, generator=rng).to(DEVICE).requires_grad_() if bias else None
    leaves = [value for value in (values, weight, own) if value is not None]
    found = convolution(module, values, weight, own)
    expected = torch.stack(
        [
            nn.functional.conv2d(values[row], weight[row], None if own is None else own[row], stride, padding)
            for row in range(2)
        ]
    )
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    slope = torch.randn(expected.shape, generator=rng).to(DEVICE)
    ours, theirs = torch.autograd.grad(found, leaves, slope), torch.autograd.grad(expected, leaves, slope)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


CHAINS = {
    "block, tanh": lambda: nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Tanh()
    ),
    "block, convolution": lambda: nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(24, 5),
    ),
    "convolution, block, pooling": lambda: nn.Sequential(
        nn.Conv2d(2, 3, 2), nn.Tanh(), nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.MaxPool2d((2, 1)),
        nn.Flatten(), nn.ReLU(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("samples", [1, 9])
def test_gradients_of_a_chain_are_those_of_torch(name: str, samples: int) -> None:
    """Few samples and many, which lie otherwise in memory; the last layer's outputs are the scores."""
    network = Network(CHAINS[name]().to(DEVICE))
    layers = plan(network.module, IMAGE)
    assert layers is not None
    rng = torch.Generator().manual_seed(1)
    weights = (0.5 * torch.randn(2, network.weights, generator=rng)).to(DEVICE)
    inputs = torch.randn(2, samples, *IMAGE, generator=rng).to(DEVICE)
    labels = torch.randint(layers.outputs, (2, samples), generator=rng).to(DEVICE)
    out = torch.empty_like(weights)
    chain.gradient(layers, weights, chain.framed(layers, inputs), labels, out, chain.Wide())
    own = weights.double().requires_grad_()
    parts = network.split(own)
    losses = []
    for row in range(2):
        given = dict(zip(network.names, (part[row] for part in parts), strict=True))
        scores = torch.func.functional_call(network.module, given, (inputs[row].double(),))
        losses.append(nn.functional.cross_entropy(scores, labels[row]))
    torch.stack(losses).sum().backward()
    assert own.grad is not None
    torch.testing.assert_close(out.double(), own.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("image", "kernel", "padding", "window"), [
    ((2, 9, 7), (3, 3), (1, 1), (2, 2)), ((1, 6, 10), (5, 2), (0, 1), (1, 3)), ((3, 5, 5), (1, 1), (0, 0), (2, 2)),
])  # fmt: skip
@pytest.mark.parametrize("samples", [3, 32])
def test_a_convolution_with_relu_and_pooling_is_that_of_torch(
    image: tuple[int, ...], kernel: Any, padding: Any, window: Any, samples: int
) -> None:
    """Forward, which place won, and slopes of weights and images; windows that do not fit in are left out by both."""
    module = nn.Sequential(
        nn.Conv2d(image[0], 5, kernel, padding=padding), nn.ReLU(), nn.MaxPool2d(window), nn.Flatten(), nn.Tanh()
    )
    layers = plan(module, image)
    assert layers is not None
    block = pooled.block(list(layers.layers))
    assert block is not None
    rng = torch.Generator().manual_seed(0)
    weights = torch.randn(2, sum(value.numel() for value in module.parameters()), generator=rng)
    inputs = torch.randn(2, samples, *image, generator=rng)
    made, index = pooled.forward(
        block, weights.to(DEVICE), pooled.framed(block, inputs.to(DEVICE), False), (2, 1), True, True
    )
    assert index is not None
    inner = made[..., 2:-2, 1:-1]
    assert (made.sum() - inner.sum()).abs() <= 1e-3  # the border is empty
    slope, slopes = torch.randn(inner.shape, generator=rng), torch.full_like(weights, 7.0).to(DEVICE)
    given = pooled.framed(block, inputs.to(DEVICE), False)
    back = pooled.backward(block, weights.to(DEVICE), given, index, slope.to(DEVICE), slopes, first=False)
    for row in range(2):
        own = inputs[row].double().requires_grad_()
        weight, bias = (
            value.double().requires_grad_()
            for value in (weights[row, :-5].view(5, image[0], *kernel), weights[row, -5:])
        )
        out = nn.functional.max_pool2d(nn.functional.conv2d(own, weight, bias, padding=padding).relu(), window)
        by_input, by_weight, by_bias = torch.autograd.grad(out, (own, weight, bias), slope[row].double())
        torch.testing.assert_close(inner[row].cpu().double(), out.detach(), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(back[row].cpu().double(), by_input, rtol=1e-5, atol=1e-5)
        expected = torch.cat([by_weight.flatten(), by_bias])
        torch.testing.assert_close(slopes[row].cpu().double(), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("samples", [1, 5, 8, 9])
@pytest.mark.parametrize(("into", "out", "bias"), [(130, 17, True), (128, 16, False), (3, 1, True)])
@pytest.mark.parametrize("relu", [False, True])
def test_a_linear_layer_is_that_of_torch(into: int, out: int, bias: bool, samples: int, relu: bool) -> None:
    """The weights lie at an odd place among those of the row; the places beside them are left alone."""
    size = out * (into + bias)
    layer = Layer(kind=LINEAR, vector=1, channels=into, out_channels=out, weight=3, bias=3 + out * into if bias else -1)
    rng = torch.Generator().manual_seed(0)
    flat, given = torch.randn(2, size + 5, generator=rng), torch.randn(2, samples, into, generator=rng)
    slope = torch.randn(2, samples, out, generator=rng)
    flat, given, slope = (value.to(DEVICE) for value in (flat, given, slope))
    weight = flat[:, 3 : 3 + out * into].view(2, out, into)
    expected = given.double() @ weight.double().mT
    if bias:
        expected += flat[:, None, 3 + out * into : 3 + size].double()
    found = launch.linear(layer, flat, given, relu)
    torch.testing.assert_close(found.double(), expected.relu() if relu else expected, rtol=1e-5, atol=1e-5)
    slopes = torch.full_like(flat, 7.0)
    back = launch.linear_back(layer, flat, given, slope, slopes, first=False)
    by_weight = [(slope.double().mT @ given.double()).flatten(1), *[slope.double().sum(1)] * bias]
    torch.testing.assert_close(back.double(), slope.double() @ weight.double(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(slopes[:, 3 : 3 + size].double(), torch.cat(by_weight, 1), rtol=1e-5, atol=1e-5)
    assert (slopes[:, :3] == 7.0).all()
    assert (slopes[:, 3 + size :] == 7.0).all()


def test_a_row_of_a_linear_layer_is_the_same_alone_and_among_others() -> None:
    layer = Layer(kind=LINEAR, vector=1, channels=70, out_channels=9, weight=0, bias=630)
    rng = torch.Generator().manual_seed(0)
    flat, given = (torch.randn(shape, generator=rng).to(DEVICE) for shape in ((5, 639), (5, 4, 70)))
    slope = torch.randn(5, 4, 9, generator=rng).to(DEVICE)
    slopes, alone = torch.empty_like(flat), torch.empty_like(flat[:1])
    together = launch.linear(layer, flat, given)
    back = launch.linear_back(layer, flat, given, slope, slopes, first=False)
    for row in range(5):
        one = slice(row, row + 1)
        assert torch.equal(launch.linear(layer, flat[one], given[one]), together[one])
        assert torch.equal(launch.linear_back(layer, flat[one], given[one], slope[one], alone, first=False), back[one])
        assert torch.equal(alone, slopes[one])


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("samples", [2, 9])
def test_predictions_by_the_chain_are_those_of_the_network(
    name: str, samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    network = Network(MODULES[name]().to(DEVICE))
    rng = torch.Generator().manual_seed(1)
    weights = 0.3 * torch.randn(ROWS, network.weights, generator=rng).to(DEVICE)
    own = torch.randn(ROWS, samples, *IMAGE, generator=rng).to(DEVICE)
    belief = Belief(weights, torch.zeros_like(weights))
    with monkeypatch.context() as plainly:
        plainly.setattr(cuda, "_HERE", False)
        apart = outputs(network, weights, own)
        same = predict(network, belief, own[0])
    used = []
    monkeypatch.setattr(cuda, "fits", lambda *_: True)
    monkeypatch.setattr("surefed.learn.cuda.scores", lambda *given: used.append(given) or chain.scores(*given))
    torch.testing.assert_close(outputs(network, weights, own), apart, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(predict(network, belief, own[0]), same, rtol=1e-4, atol=1e-5)
    assert [len(given[2]) for given in used] == [ROWS, 1]  # what is the same for all rows is not repeated


def test_predictions_of_layers_without_kernels_are_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefed.learn.cuda.scores", lambda *_: pytest.fail("there is no kernel for these"))
    monkeypatch.setattr(
        "surefed.learn.fast.cuda.fits", lambda *values: all(one.dtype == torch.float32 for one in values)
    )
    layers = (nn.Dropout(0.5), nn.GELU(), nn.BatchNorm1d(6))
    for module, kind in ((nn.Identity(), torch.float64), *((layer, torch.float32) for layer in layers)):
        network = Network(nn.Sequential(nn.Linear(5, 6), module, nn.Linear(6, 3)).to(DEVICE))
        weights = network.initial().repeat(2, 1).to(DEVICE, kind)
        buffers = network.initial_buffers().repeat(2, 1).to(DEVICE)
        found = outputs(network, weights, torch.ones(1, 4, 5, device=DEVICE, dtype=kind), buffers)
        assert found.shape == (2, 4, 3)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of NumPy, which interprets
@pytest.mark.parametrize("where", [0, 700])
def test_what_is_no_number_stays_none(where: int) -> None:
    """Of a convolution, a linear layer or the ReLU after one of them; the row then stands still."""
    network = Network(MODULES["cnn"]().to(DEVICE))
    layers = plan(network.module, IMAGE)
    assert layers is not None
    weights = network.initial().to(DEVICE)[None].clone()
    weights[0, where] = torch.nan
    inputs, labels = torch.ones(1, 2, *IMAGE, device=DEVICE), torch.zeros(1, 2, dtype=torch.int64, device=DEVICE)
    out = torch.empty_like(weights)
    chain.gradient(layers, weights, chain.framed(layers, inputs), labels, out, chain.Wide())
    assert out.sum().isnan()


def test_pooling_windows_that_overlap_are_left_to_torch() -> None:
    module = nn.Sequential(nn.Conv2d(2, 4, 3), nn.MaxPool2d(3, 2), nn.Flatten(), nn.Linear(48, 10))
    layers = plan(module, IMAGE)
    assert layers is not None
    assert not knows(layers)


@pytest.mark.parametrize(("groups", "channels", "image"), [(2, 4, (8, 8)), (3, 9, (5, 7)), (4, 4, (1, 1))])
def test_a_group_norm_and_its_gradients_are_those_of_torch(groups: int, channels: int, image: tuple[int, int]) -> None:
    rng = torch.Generator().manual_seed(0)
    values = 3.0 + torch.randn(ROWS, 5, channels, *image, generator=rng)
    weight, bias = torch.randn(2, ROWS, channels, generator=rng)
    slope = torch.randn(values.shape, generator=rng)
    assert knows_norm(nn.GroupNorm(groups, channels), values)
    given = [value.clone().to(DEVICE).requires_grad_() for value in (values, weight, bias)]
    out = group_norm(given[0], given[1], given[2], groups, 1e-5)
    out.backward(slope.to(DEVICE))
    plain = [value.double().requires_grad_() for value in (values, weight, bias)]
    wanted = torch.stack(
        [
            nn.functional.group_norm(*one, eps=1e-5)
            for one in zip(plain[0], [groups] * ROWS, plain[1], plain[2], strict=True)
        ]
    )
    wanted.backward(slope.double())
    torch.testing.assert_close(out.cpu().double(), wanted, rtol=1e-5, atol=1e-5)
    for mine, theirs in zip(given, plain, strict=True):
        assert mine.grad is not None
        torch.testing.assert_close(mine.grad.cpu().double(), theirs.grad, rtol=1e-4, atol=1e-5)


def test_a_group_norm_too_large_for_a_program_is_left_to_torch() -> None:
    assert not knows_norm(nn.GroupNorm(1, 64), torch.zeros(1, 1, 64, 32, 32))
    assert not knows_norm(nn.GroupNorm(2, 4, affine=False), torch.zeros(1, 1, 4, 8, 8))
    assert not knows_norm(nn.GroupNorm(2, 4), torch.zeros(1, 1, 4))
