"""Chains of common layers as batched matrix products over a stack of clients: no vmap, no per-client call."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Plan = Callable[[list[Tensor], Tensor], Tensor]
Layer = Callable[[Tensor, list[Tensor]], Tensor]

# Layers without weights that treat every sample alone: rows and samples are merged into one batch for them.
_ALONE = (
    nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Hardtanh, nn.Identity,
    nn.MaxPool1d, nn.MaxPool2d, nn.AvgPool1d, nn.AvgPool2d, nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.Flatten,
)  # fmt: skip


def stacked(module: nn.Module) -> Plan | None:
    """A stacked version of a module made of known layers in sequence, or None."""
    try:
        layers = list(_layers(module))
    except LookupError:
        return None

    def run(parameters: list[Tensor], inputs: Tensor) -> Tensor:
        at, values = 0, inputs
        for count, layer in layers:
            values = layer(values, parameters[at : at + count])
            at += count
        return values

    return run


def _layers(module: nn.Module) -> Iterator[tuple[int, Layer]]:
    """Each layer with the number of parameters it takes; LookupError where one is unknown."""
    hooked = module._forward_hooks or module._forward_pre_hooks
    kind = type(module)
    if hooked or len({id(value) for value in module.parameters()}) != len(list(_every_parameter(module))):
        raise LookupError("hooks and shared weights are left to vmap")
    if kind is nn.Sequential:
        for child in module.children():
            yield from _layers(child)
    elif isinstance(module, nn.Linear) and kind is nn.Linear:
        yield (1 if module.bias is None else 2), _linear
    elif isinstance(module, nn.Conv2d) and kind is nn.Conv2d and module.padding_mode == "zeros":
        yield (1 if module.bias is None else 2), _convolution(module)
    elif kind in _ALONE and getattr(module, "start_dim", 1) == 1:
        yield 0, _alone(module)
    else:
        raise LookupError(kind.__name__)


def _every_parameter(module: nn.Module) -> Iterator[nn.Parameter]:
    """Parameters with their repetitions: a weight used twice is met twice."""
    for child in module.modules():
        yield from (value for value in child._parameters.values() if value is not None)


def _alone(module: nn.Module) -> Layer:
    def layer(values: Tensor, _: list[Tensor]) -> Tensor:
        out: Tensor = module(values.flatten(0, 1))
        return out.unflatten(0, values.shape[:2])

    return layer


def _linear(values: Tensor, parameters: list[Tensor]) -> Tensor:
    """values: [row, sample, in]; weight: [row, out, in]; bias: [row, out]."""
    weight = parameters[0].transpose(1, 2)
    if values.dim() != 3:  # nn.Linear acts on the last axis whatever stands before it
        flat = values.flatten(1, -2)
        return _linear(flat, parameters).unflatten(1, values.shape[1:-1])
    if len(parameters) == 1:
        return torch.bmm(values, weight)
    return torch.baddbmm(parameters[1][:, None], values, weight)


def _convolution(module: nn.Conv2d) -> Layer:
    def layer(values: Tensor, parameters: list[Tensor]) -> Tensor:
        """values: [row, sample, channel, height, width]; weight: [row, out, in / groups, height, width].

        One grouped convolution: a group per row and group of the layer.
        """
        rows, samples = values.shape[:2]
        weight = parameters[0].flatten(0, 1)
        bias = parameters[1].flatten() if len(parameters) == 2 else None
        side_by_side = values.transpose(0, 1).flatten(1, 2)  # [sample, row * channel, height, width]
        out = F.conv2d(
            side_by_side, weight, bias, module.stride, module.padding, module.dilation, rows * module.groups
        )
        return out.unflatten(1, (rows, -1)).transpose(0, 1)

    return layer
