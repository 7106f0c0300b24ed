"""Every layer that has a stacked version, against the module itself, one row at a time."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from surefed.learn import Network
from surefed.models.base import Normalise, Shortcut, Sum

shared = nn.Linear(6, 6)
NETWORKS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "strided": (
        nn.Sequential(
            nn.Conv2d(4, 8, 3, stride=2, groups=2, bias=False), nn.Tanh(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
            nn.Sequential(nn.Linear(32, 5, bias=False), nn.GELU()), nn.Linear(5, 4),
        ),
        (4, 9, 9),
    ),
    "in place": (nn.Sequential(nn.ReLU(inplace=True), nn.Linear(3, 4), nn.LeakyReLU(inplace=True)), (3,)),
    "pooled first": (nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(8, 4)), (2, 8, 8)),
    "linear on the last axis": (nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Flatten(), nn.Linear(10, 4)), (2, 3)),
    "a part flattened": (nn.Sequential(nn.Conv1d(2, 3, 3), nn.Flatten(1, 2), nn.Linear(18, 4)), (2, 8)),
    "signals": (
        nn.Sequential(
            nn.Conv1d(2, 4, 3, dilation=2), nn.MaxPool1d(2), nn.Conv1d(4, 6, 1), nn.AvgPool1d(2),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(6, 4),
        ),
        (2, 12),
    ),
    "group norm": (
        nn.Sequential(nn.Conv2d(1, 6, 3), nn.GroupNorm(3, 6), nn.ReLU(), nn.Flatten(), nn.Linear(54, 4)), (1, 5, 5),
    ),
    "group norm without weights": (nn.Sequential(nn.GroupNorm(2, 4, affine=False), nn.Linear(4, 4)), (4,)),
    "layer norm": (
        nn.Sequential(nn.LayerNorm((2, 3)), nn.Linear(3, 4), nn.LayerNorm(4), nn.Flatten(), nn.Linear(8, 4)), (2, 3),
    ),
    "layer norm without weights": (nn.Sequential(nn.LayerNorm(3, elementwise_affine=False), nn.Linear(3, 4)), (3,)),
    "residual": (
        nn.Sequential(
            Normalise((0.3, 0.1), (0.5, 2.0)), Sum(nn.Conv2d(2, 4, 3, stride=2, padding=1), Shortcut(4)), nn.ReLU(),
            Sum(nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.ReLU()), nn.Identity()), nn.Flatten(), nn.Linear(36, 4),
        ),
        (2, 5, 5),
    ),
    "a weight used twice": (nn.Sequential(shared, nn.Tanh(), shared, nn.Linear(6, 4)), (6,)),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_a_stack_equals_separate_networks_in_outputs_and_gradients(name: str, rng: torch.Generator) -> None:
    module, shape = NETWORKS[name]
    network = Network(module)
    assert network._plan is not None, "it must take the fast path"
    flat = network.initial() + 0.1 * torch.randn(3, network.weights, generator=rng)
    inputs = torch.randn(3, 5, *shape, generator=rng)
    aim = torch.randn(3, 5, *module(inputs[0].clone()).shape[1:], generator=rng)
    kept = inputs.clone()
    leaves = [part.detach().requires_grad_() for part in network.split(flat)]
    outputs = network.apply(leaves, inputs)
    slopes = torch.autograd.grad((outputs * aim).sum(), leaves)
    assert torch.equal(inputs, kept), "nobody's data is written over"
    for row in range(3):
        nn.utils.vector_to_parameters(flat[row], module.parameters())
        module.zero_grad()
        alone = module(inputs[row].clone())
        (alone * aim[row]).sum().backward()
        assert torch.allclose(outputs[row], alone, atol=1e-5)
        for stacked, parameter in zip(slopes, module.parameters(), strict=True):
            assert parameter.grad is not None
            assert torch.allclose(stacked[row], parameter.grad, atol=1e-4)


class Own(nn.Linear):
    """May do anything."""


class Doubled(nn.Module):
    """Somebody's own module, of which nothing is known; or, in its subclass, something."""

    def forward(self, x: Tensor) -> Tensor:
        return 2 * x


class Known(Doubled):
    each_sample_alone = True


class Silent(Known):
    """What a parent says of itself does not hold for a child, which may look at all samples together."""

    def forward(self, x: Tensor) -> Tensor:
        return x - x.mean(0)


def hooked() -> nn.Module:
    layer = nn.Linear(3, 3)
    layer.register_forward_hook(lambda layer, given, out: 2 * out)
    return layer


@pytest.mark.parametrize(
    "module",
    [
        Own(3, 3),
        hooked(),
        nn.Sequential(nn.Linear(3, 3), Doubled()),
        nn.Sequential(nn.Linear(3, 3), Silent()),
        nn.Sequential(nn.Linear(3, 3), nn.Unflatten(1, (1, 3)), nn.Flatten(0)),
        nn.Conv1d(1, 1, 3, padding=1, padding_mode="circular"),
    ],
)
def test_what_is_not_known_is_left_to_vmap(module: nn.Module) -> None:
    assert Network(module)._plan is None


def test_a_module_joins_in_by_saying_what_it_is() -> None:
    network = Network(nn.Sequential(nn.Linear(3, 2), Known()))
    assert network._plan is not None
    inputs = torch.randn(1, 4, 3)
    assert torch.allclose(network.apply(network.split(network.initial()[None]), inputs)[0], network.module(inputs[0]))
