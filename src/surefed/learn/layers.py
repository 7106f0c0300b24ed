"""Common layers over a stack of clients: values are [row, sample, ...], and every row has weights of its own.

Convolutions and norms put the channels of all rows side by side, [sample, row * channel, ...], where one grouped
operation serves every row; what they give back is a view of that, and element-wise layers leave it as it lies. On a GPU
with kernels for them, rows stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from surefed.core import cuda
from surefed.learn.masks import Masks


@dataclass(frozen=True, slots=True)
class Pass:
    """One way through the network.

    parameters: [row, *shape] each, in the order of the module's.
    buffers: [row, *shape] each, the running statistics; written over while training.
    masks: what random layers draw; None in prediction, where nothing is random.
    """

    parameters: list[Tensor]
    buffers: Sequence[Tensor]
    masks: Masks | None


Layer = Callable[[Tensor, Pass], Tensor]
Where = dict[int, int]
"""The place of every parameter and running statistic, by id, in the lists of a `Pass`."""

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
"""Norms whose running statistics a client keeps to itself, and whose own weights have no posterior."""


def beside(values: Tensor) -> Tensor:
    """[row, sample, channel, ...] as [sample, row * channel, ...]."""
    return values.transpose(0, 1).flatten(1, 2)


def apart(values: Tensor, rows: int) -> Tensor:
    """[sample, row * channel, ...] as [row, sample, channel, ...]."""
    return values.view(len(values), rows, -1, *values.shape[2:]).transpose(0, 1)


def elementwise(module: nn.Module, where: Where) -> Layer:
    """Layers without weights that look at one number at a time."""
    writes = getattr(module, "inplace", False)
    return lambda values, _: module(values.clone() if writes else values)


def alone(module: nn.Module, where: Where) -> Layer:
    """Layers without weights that look at one sample at a time: rows and samples are merged for them."""

    def layer(values: Tensor, _: Pass) -> Tensor:
        out: Tensor = module(values.flatten(0, 1))
        return out.view(*values.shape[:2], *out.shape[1:])

    return layer


def flatten(module: nn.Flatten, where: Where) -> Layer:
    """All axes of a sample, or all up to end_dim, become one."""
    if module.start_dim != 1:
        raise LookupError("would merge samples")
    last = module.end_dim + (module.end_dim >= 0)
    return lambda values, _: values.flatten(2, last)


def pooling(axes: int) -> Callable[[nn.Module, Where], Layer]:
    """Layers without weights that look at one channel of so many axes at a time."""

    def make(module: nn.Module, where: Where) -> Layer:
        if getattr(module, "return_indices", False):
            raise LookupError("gives two values")
        merged = alone(module, where)

        def layer(values: Tensor, given: Pass) -> Tensor:
            if values.is_contiguous() or values.dim() != 3 + axes:
                return merged(values, given)
            return apart(module(beside(values)), len(values))

        return layer

    return make


def linear(module: nn.Linear, where: Where) -> Layer:
    """values: [row, sample, ..., in]; weight: [row, out, in]; bias: [row, out]."""
    weight_at, bias_at = _places(module, where, "weight", "bias")
    assert weight_at is not None

    def layer(values: Tensor, given: Pass) -> Tensor:
        if values.dim() != 3:  # nn.Linear acts on the last axis whatever stands before it
            flat = layer(values.flatten(1, -2), given)
            return flat.view(*values.shape[:-1], flat.shape[-1])
        weight = given.parameters[weight_at].transpose(1, 2)
        if bias_at is None:
            return torch.bmm(values, weight)
        return torch.baddbmm(given.parameters[bias_at][:, None], values, weight)

    return layer


def convolution(run: Callable[..., Tensor], axes: int) -> Callable[[Any, Where], Layer]:
    """values: [row, sample, channel, ...]; weight: [row, out, in / groups, ...]. A group per row and group."""

    def make(module: Any, where: Where) -> Layer:
        if module.padding_mode != "zeros":
            raise LookupError("padding")
        weight_at, bias_at = _places(module, where, "weight", "bias")
        assert weight_at is not None

        def layer(values: Tensor, given: Pass) -> Tensor:
            if values.dim() != 3 + axes:
                raise ValueError(f"a convolution over {axes} axes takes [sample, channel, ...] with as many")
            rows = len(values)
            if cuda.fits(values, given.parameters[weight_at]):
                from surefed.learn.cuda.convolution import convolution, knows  # here, because it needs Triton

                if knows(module):
                    own = None if bias_at is None else given.parameters[bias_at]
                    return convolution(module, values, given.parameters[weight_at], own)
            weight = given.parameters[weight_at].flatten(0, 1)
            bias = None if bias_at is None else given.parameters[bias_at].flatten()
            groups = rows * module.groups
            out = run(beside(values), weight, bias, module.stride, module.padding, module.dilation, groups)
            return apart(out, rows)

        return layer

    return make


def group_norm(module: nn.GroupNorm, where: Where) -> Layer:
    """values: [row, sample, channel, ...]; weight, bias: [row, channel]."""
    places = _places(module, where, "weight", "bias")

    def layer(values: Tensor, given: Pass) -> Tensor:
        own = [given.parameters[at] for at in places if at is not None]
        if len(own) == 2 and cuda.fits(values, *own):
            from surefed.learn.cuda.norm import group_norm, knows  # here, because it needs Triton

            if knows(module, values):
                return group_norm(values, own[0], own[1], module.num_groups, module.eps)
        weight, bias = (None if at is None else given.parameters[at].flatten() for at in places)
        return apart(
            F.group_norm(beside(values), len(values) * module.num_groups, weight, bias, module.eps), len(values)
        )

    return layer


def batch_norm(module: Any, where: Where) -> Layer:
    """values: [row, sample, channel, ...]; weight, bias and running statistics: [row, channel].

    Training normalises by the minibatch and moves the running statistics on; prediction normalises by those.
    """
    places = _places(module, where, "weight", "bias")
    mean_at, var_at = _places(module, where, "running_mean", "running_var")

    def layer(values: Tensor, given: Pass) -> Tensor:
        weight, bias = (None if at is None else given.parameters[at].flatten() for at in places)
        kept = [given.buffers[at] for at in (mean_at, var_at) if at is not None]
        flat = [value.flatten().clone() for value in kept]  # a row's statistics are not neighbours of the next row's
        training = given.masks is not None or not kept
        mean, var = flat or (None, None)
        out = F.batch_norm(beside(values), mean, var, weight, bias, training, module.momentum or 0.0, module.eps)
        if training:
            for value, moved in zip(kept, flat, strict=True):
                value.copy_(moved.view_as(value))
        return apart(out, len(values))

    return layer


def layer_norm(module: nn.LayerNorm, where: Where) -> Layer:
    """values: [row, sample, ..., *shape]; weight, bias: [row, *shape]."""
    weight_at, bias_at = _places(module, where, "weight", "bias")
    shape = module.normalized_shape

    def layer(values: Tensor, given: Pass) -> Tensor:
        def by_row(at: int) -> Tensor:
            return given.parameters[at].view(-1, *[1] * (values.dim() - 1 - len(shape)), *shape)

        out = F.layer_norm(values, shape, eps=module.eps)
        if weight_at is not None:
            out = out * by_row(weight_at)
        return out if bias_at is None else out + by_row(bias_at)

    return layer


def log_noise(module: nn.Module, where: Where) -> Layer:
    """values: [row, sample, target]; the logarithm of the noise: [row, target]."""
    (at,) = _places(module, where, "log_noise")
    assert at is not None
    return lambda values, given: torch.cat(
        [values, given.parameters[at][:, None].expand(-1, values.shape[1], -1)], dim=-1
    )


def dropout(channels: bool) -> Callable[[Any, Where], Layer]:
    """Numbers, or whole channels, are left out with probability p and the others scaled by 1 / (1 - p)."""

    def make(module: Any, where: Where) -> Layer:
        def layer(values: Tensor, given: Pass) -> Tensor:
            if given.masks is None or module.p == 0.0:
                return values
            if channels and values.dim() < 4:
                raise ValueError("dropping channels takes [sample, channel, ...]")
            shape = values.shape[:3] if channels else values.shape
            kept = given.masks.uniform(shape[1:].numel()).view(shape) >= module.p
            scale = kept / (1.0 - module.p) if module.p < 1.0 else torch.zeros_like(kept, dtype=values.dtype)
            return values * scale.view(*shape, *[1] * (values.dim() - len(shape)))

        return layer

    return make


def _places(module: nn.Module, where: Where, *names: str) -> list[int | None]:
    """Where the parameters of these names are; None for one that the layer does not have."""
    values = [getattr(module, name) for name in names]
    return [None if value is None else where[id(value)] for value in values]
