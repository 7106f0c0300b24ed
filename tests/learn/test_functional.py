from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from surefed.core import DataError
from surefed.learn import Network


class Residual(nn.Module):
    """Not a chain of layers, so it goes through vmap."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 4)
        self.scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.second(x + self.scale * torch.tanh(self.first(x)))
        return out


def test_a_module_that_is_no_chain_equals_separate_networks(rng: torch.Generator) -> None:
    module = Residual()
    network = Network(module)
    assert network._plan is None
    flat = network.initial() + 0.1 * torch.randn(3, network.weights, generator=rng)
    inputs, labels = torch.randn(3, 5, 6, generator=rng), torch.randint(0, 4, (3, 5), generator=rng)
    leaves = [part.detach().requires_grad_() for part in network.split(flat)]
    outputs = network.apply(leaves, inputs)
    slopes = torch.autograd.grad(F.cross_entropy(outputs.flatten(0, 1), labels.flatten(), reduction="sum"), leaves)
    for row in range(3):
        torch.nn.utils.vector_to_parameters(flat[row], module.parameters())
        module.zero_grad()
        alone = module(inputs[row])
        F.cross_entropy(alone, labels[row], reduction="sum").backward()
        assert torch.allclose(outputs[row], alone, atol=1e-5)
        for stacked, parameter in zip(slopes, module.parameters(), strict=True):
            assert parameter.grad is not None
            assert torch.allclose(stacked[row], parameter.grad, atol=1e-5)


def test_what_a_step_keeps_is_counted_for_one_sample() -> None:
    # sample and hidden units (after the ReLU) are kept for the weights' gradients; the outputs are counted too
    network = Network(nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 3)))
    assert network.kept(torch.zeros(100, 7)) == 7 + 5 + 3
    assert network.kept(torch.zeros(1, 7)) == 15


def test_shared_weights_count_once() -> None:
    shared = nn.Linear(3, 3)
    network = Network(nn.Sequential(shared, nn.ReLU(), shared))
    assert network.weights == 12
    inputs = torch.randn(1, 2, 3)
    expected = nn.Sequential(shared, nn.ReLU(), shared)(inputs[0])
    assert torch.allclose(network.apply(network.split(network.initial()[None]), inputs)[0], expected)


def test_a_weight_is_found_in_its_layer() -> None:
    network = Network(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)))
    assert [network.layer_of(at) for at in (0, 5, 6, 8, 9, 12)] == [
        "0.weight", "0.weight", "0.bias", "0.bias", "2.weight", "2.bias",
    ]  # fmt: skip
    with pytest.raises(IndexError):
        network.layer_of(13)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Sequential(nn.Linear(4, 4), nn.InstanceNorm1d(4, track_running_stats=True)), "keeps buffers .1.running"),
        (nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=None)), "with a momentum"),
        (nn.Sequential(nn.ReLU()), "no parameters"),
        (nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2).requires_grad_(False)), "frozen weights"),
        (nn.LazyLinear(3), "run one batch through it first"),
    ],
)
def test_modules_that_do_not_fit_are_refused_with_a_way_out(module: nn.Module, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Network(module)


class Odd(nn.Module):
    """Does not return one tensor, or fails in a way of its own."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.inner = how, nn.Linear(4, 2)

    def forward(self, x: Tensor) -> object:
        out = self.inner(x)
        if self.how == "assert":
            raise AssertionError
        return {"dict": {"scores": out}, "tuple": (out, out)}[self.how]


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (Odd("dict"), "returns a dict; it must return one tensor"),
        (Odd("tuple"), "returns a tuple"),
        (Odd("assert"), "cannot take inputs.*AssertionError"),
        (nn.Linear(4, 3), r"returns shape \(3,\) for one sample, but the data has 2 classes"),
        (nn.Linear(5, 2), r"cannot take inputs of shape \(4,\)"),
        (nn.Sequential(nn.Linear(4, 2), nn.Flatten(0, 1)), "it must return 2 scores"),
    ],
)
def test_a_wrong_output_shape_is_refused(module: nn.Module, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Network(module).check(torch.zeros(7, 4), 2)
