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
    used = [id(value) for values, _ in layers for value in values]
    if used != [id(value) for value in module.parameters()]:
        return None  # a weight that is used twice is left to vmap

    def run(parameters: list[Tensor], inputs: Tensor) -> Tensor:
        at, values = 0, inputs
        for own, layer in layers:
            values = layer(values, parameters[at : at + len(own)])
            at += len(own)
        return values

    return run


def _layers(module: nn.Module) -> Iterator[tuple[list[nn.Parameter], Layer]]:
    """Each layer with its own parameters; LookupError where one is unknown."""
    kind, own = type(module), [value for value in module._parameters.values() if value is not None]
    if module._forward_hooks or module._forward_pre_hooks:
        raise LookupError("hooks are left to vmap")
    if kind is nn.Sequential:
        for child in module._modules.values():  # children() would pass over a layer that stands twice
            assert child is not None
            yield from _layers(child)
    elif kind is nn.Linear:
        yield own, _linear
    elif isinstance(module, nn.Conv2d) and kind is nn.Conv2d and module.padding_mode == "zeros":
        yield own, _convolution(module)
    elif kind in _ALONE and getattr(module, "start_dim", 1) == 1:
        yield own, _alone(module)
    else:
        raise LookupError(kind.__name__)


def _alone(module: nn.Module) -> Layer:
    writes = getattr(module, "inplace", False)

    def layer(values: Tensor, _: list[Tensor]) -> Tensor:
        merged = values.flatten(0, 1)
        out: Tensor = module(merged.clone() if writes else merged)
        return out.view(*values.shape[:2], *out.shape[1:])

    return layer


def _linear(values: Tensor, parameters: list[Tensor]) -> Tensor:
    """values: [row, sample, in]; weight: [row, out, in]; bias: [row, out]."""
    weight = parameters[0].transpose(1, 2)
    if values.dim() != 3:  # nn.Linear acts on the last axis whatever stands before it
        flat = _linear(values.flatten(1, -2), parameters)
        return flat.view(*values.shape[:-1], flat.shape[-1])
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
        out = F.conv2d(side_by_side, weight, bias, module.stride, module.padding, module.dilation, rows * module.groups)
        return out.view(samples, rows, -1, *out.shape[2:]).transpose(0, 1)

    return layer
