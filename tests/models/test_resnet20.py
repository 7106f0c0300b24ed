"""ResNet-20 against its published size, and a stack of them against separate ones."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from surefed.core import DataError
from surefed.learn import Network
from surefed.models.resnet20 import resnet20

Norm = Literal["group", "batch"]


@pytest.mark.parametrize("norm", ["group", "batch"])
def test_it_has_the_published_number_of_weights(norm: Norm) -> None:
    network = Network(resnet20((3, 32, 32), 10, norm=norm))
    # 3x3 convolutions: 3 -> 16; six of 16 -> 16; 16 -> 32 and five of 32 -> 32; 32 -> 64 and five of 64 -> 64
    convolutions = 9 * (3 * 16 + 6 * 16**2 + 16 * 32 + 5 * 32**2 + 32 * 64 + 5 * 64**2)
    norms = 2 * (7 * 16 + 6 * 32 + 6 * 64)  # one after each of the 19 convolutions: a weight and a bias a channel
    assert (convolutions, norms) == (267_696, 1_376)
    assert network.weights == 269_722 == convolutions + norms + 64 * 10 + 10
    assert sum(network.buffer_sizes) == (0 if norm == "group" else norms)
    assert (0 if network.certain is None else int(network.certain.sum())) == (0 if norm == "group" else norms)


def test_stages_halve_the_image() -> None:
    shapes: list[tuple[int, ...]] = []
    module = resnet20((3, 32, 32), 10)
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            layer.register_forward_hook(lambda layer, given, out: shapes.append(tuple(out.shape[1:])))
    assert module(torch.zeros(1, 3, 32, 32)).shape == (1, 10)
    assert shapes == [(16, 32, 32)] * 7 + [(32, 16, 16)] * 6 + [(64, 8, 8)] * 6


@pytest.mark.parametrize(("shape", "classes"), [((1, 28, 28), 62), ((4, 9, 13), 2), ((3, 1, 1), 1)])
def test_it_takes_other_images_and_classes(shape: tuple[int, ...], classes: int) -> None:
    Network(resnet20(shape, classes)).check(torch.zeros(2, *shape), classes)


def test_it_needs_images() -> None:
    with pytest.raises(DataError, match="needs images"):
        resnet20((64,), 10)


def slopes(network: Network, flat: Tensor, inputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs [row, sample, class] and the gradient of each row's summed loss [row, weight]."""
    leaves = [part.detach().requires_grad_() for part in network.split(flat)]
    outputs = network.apply(leaves, inputs)
    loss = F.cross_entropy(outputs.flatten(0, 1), labels.flatten(), reduction="sum")
    return outputs.detach(), torch.cat([part.flatten(1) for part in torch.autograd.grad(loss, leaves)], dim=1)


def compare(rows: int, samples: int, side: int, *, exact: bool) -> None:
    """A stack against separate networks and the vmap path.

    In float32 a unit whose input is within rounding of 0 may be on in one and off in the other, which moves a few
    gradients by more than rounding: they are compared to 1e-4 in float64, where that does not happen.
    """
    rng = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    kind = torch.float64 if exact else torch.float32
    module = resnet20((3, side, side), 10).to(kind)
    network = Network(module)
    flat = (network.initial() + 0.05 * torch.randn(rows, network.weights, generator=rng)).to(kind)
    inputs = torch.rand(rows, samples, 3, side, side, generator=rng).to(kind)
    labels = torch.randint(0, 10, (rows, samples), generator=rng)
    outputs, gradients = slopes(network, flat, inputs, labels)
    network._plan = None
    by_vmap = slopes(network, flat, inputs, labels) if exact else (outputs, gradients)
    for row in range(rows):
        nn.utils.vector_to_parameters(flat[row], module.parameters())
        module.zero_grad()
        alone = module(inputs[row])
        F.cross_entropy(alone, labels[row], reduction="sum").backward()
        gradient = torch.cat([value.grad.flatten() for value in module.parameters() if value.grad is not None])
        assert gradient.abs().max() > 0.1
        for values, found in ((outputs, gradients), by_vmap):
            assert torch.allclose(values[row], alone, atol=1e-4)
            gap = found[row] - gradient
            assert gap.abs().max() < 1e-4 if exact else gap.norm() < 0.01 * gradient.norm()


def test_a_stack_equals_separate_networks_and_the_vmap_path() -> None:
    compare(3, 2, 12, exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
def test_fifty_stacked_equal_fifty_separate_ones(exact: bool) -> None:
    compare(50, 5, 32, exact=exact)
