"""A chain of layers for a stack of rows: scores forward, gradients backward, without automatic differentiation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from surefed.learn.cuda import layers as kernels
from surefed.learn.cuda.launch import (
    SAMPLES,
    bordered,
    convolve,
    convolve_back,
    linear,
    linear_back,
    maxpool,
    maxpool_back,
    power,
)
from surefed.learn.native.plan import CONVOLUTION, LINEAR, MAXPOOL, RELU, TANH, Layer, Plan

Kept = list[tuple[Tensor, Tensor | None]]
"""Of every layer: its input, and that with a border, or which pixel won."""


def knows(plan: Plan) -> bool:
    """Whether the kernels for GPUs have all these layers; pooling windows must not overlap."""
    return all(
        layer.kind != MAXPOOL or (layer.kernel_h == layer.stride_h and layer.kernel_w == layer.stride_w)
        for layer in plan.layers
    )


@dataclass(frozen=True)
class Wide:
    """What the slopes of the linear layer with the most weights are made of: sums of slopes[out] * given[in].

    first, last: where its weights lie; both 0 where nobody needs to know. given: [row, sample, in] and
    slopes: [row, sample, out] once the gradient is known.
    """

    first: int = 0
    last: int = 0
    given: Tensor | None = None
    slopes: Tensor | None = None

    @property
    def shape(self) -> dict[str, int]:
        """What the kernels must know of it."""
        assert self.given is not None
        assert self.slopes is not None
        size = {"IN": self.given.shape[2], "OUT": self.slopes.shape[2], "BATCH": self.given.shape[1]}
        return {"FIRST": self.first, "LAST": self.last, **size}


def widest(plan: Plan, batch: int) -> Wide:
    """The linear layer with the most weights, where minibatches of this size have few samples."""
    sizes = {layer.weight: layer.channels * layer.out_channels for layer in plan.layers if layer.kind == LINEAR}
    if batch > SAMPLES or not sizes:
        return Wide()
    first = max(sizes, key=lambda at: sizes[at])
    return Wide(first, first + sizes[first])


def gradient(plan: Plan, weights: Tensor, inputs: Tensor, labels: Tensor, out: Tensor, wide: Wide) -> Wide:
    """Gradient of every row's mean cross-entropy with respect to its own weights, into `out`. [row, weight]

    inputs: [row, sample, ...]; labels: int64 [row, sample]. What the slopes of `wide` are made of comes back with it.
    """
    chain = list(plan.layers)
    kept: Kept = []
    values = _forward(chain, weights, inputs, kept)
    rows, batch, classes = values.shape
    slope = torch.empty_like(values)
    kernels.classify[(rows * batch,)](
        values.contiguous(), labels.contiguous(), slope, batch, CLASSES=classes, BC=power(classes)
    )
    return _backward(chain, weights, kept, values, slope, out, wide)


def scores(plan: Plan, weights: Tensor, inputs: Tensor) -> Tensor:
    """What every row's network makes of its inputs. [row, sample, output]

    inputs: [row, sample, ...], or [1, sample, ...] where they are the same for all rows.
    """
    return _forward(list(plan.layers), weights, inputs, None)


def _forward(chain: list[Layer], weights: Tensor, values: Tensor, kept: Kept | None) -> Tensor:
    """Layer after layer; what is the same for all rows stays one row up to the first layer that has weights."""
    skip = False
    for at, layer in enumerate(chain):
        if layer.vector and values.dim() > 3:
            values = values.flatten(2)
        fused = at + 1 < len(chain) and chain[at + 1].kind == RELU and layer.kind in (LINEAR, CONVOLUTION)
        extra = None
        given = values
        if skip:
            pass  # the layer before has already cut off what is negative
        elif layer.kind == LINEAR:
            values = linear(layer, weights, values.expand(len(weights), -1, -1), fused)
        elif layer.kind == CONVOLUTION:
            extra = bordered(layer, values)
            values = convolve(layer, weights, extra, fused)
        elif layer.kind == RELU:
            values = values.relu()
        elif layer.kind == TANH:
            values = values.tanh()
        else:
            values, extra = maxpool(layer, values, which=kept is not None)
        if kept is not None:
            kept.append((given, extra))
        skip = fused
    return values


def _backward(
    chain: list[Layer],
    weights: Tensor,
    kept: Kept,
    last: Tensor,
    slope: Tensor,
    out: Tensor,
    wide: Wide,
) -> Wide:
    outputs = [*(given for given, _ in kept[1:]), last]
    through = False  # whether the pooling after a ReLU has already gone back through it
    for at in reversed(range(len(chain))):
        layer, (given, extra) = chain[at], kept[at]
        if not layer.vector and slope.dim() == 3:
            slope = slope.view(*slope.shape[:2], layer.out_channels, layer.out_height, layer.out_width)
        if layer.kind == LINEAR:
            given, slope = given.contiguous(), slope.contiguous()
            if wide.last > 0 and layer.weight == wide.first:
                wide = replace(wide, given=given, slopes=slope)
            slope = linear_back(layer, weights, given, slope, out, first=at == 0)
        elif layer.kind == CONVOLUTION:
            assert extra is not None
            slope = convolve_back(layer, weights, extra, slope, out, first=at == 0)
        elif layer.kind == RELU:
            if not through:
                slope = torch.ops.aten.threshold_backward(slope, outputs[at].view_as(slope), 0)
            through = False
        elif layer.kind == TANH:
            slope = slope * (1.0 - outputs[at].view_as(slope).square())
        else:
            assert extra is not None
            through = at > 0 and chain[at - 1].kind == RELU
            slope = maxpool_back(layer, given, extra, slope, relu=through)
    return wide
