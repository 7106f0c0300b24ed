"""A chain of layers for a stack of rows: scores forward, gradients backward, without automatic differentiation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from surefed.learn.cuda import layers as kernels
from surefed.learn.cuda import pooled
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
from surefed.learn.cuda.pooled import Block
from surefed.learn.native.plan import CONVOLUTION, LINEAR, MAXPOOL, RELU, TANH, Layer, Plan


class Part(NamedTuple):
    """Layers that are one step: a block, or a layer and the ReLU after it, or a layer alone."""

    layer: Layer
    relu: bool = False
    block: Block | None = None


class Kept(NamedTuple):
    """What the way back needs of a part: what it was given, with its border, what it made, and which pixels won."""

    given: Tensor
    made: Tensor
    winners: Tensor | None


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


def framed(plan: Plan, inputs: Tensor, fill: bool = False) -> Tensor:
    """Inputs as the first part wants them, with the border that it pads with. [..., channel, height, width]

    fill: whether there may be more samples afterwards, which show nothing.
    """
    return _framed(next(_parts(plan)), inputs, fill)


def _framed(part: Part, values: Tensor, fill: bool = False) -> Tensor:
    if part.block is not None:
        return pooled.framed(part.block, values, fill)
    return bordered(part.layer, values) if part.layer.kind == CONVOLUTION else values


def gradient(plan: Plan, weights: Tensor, inputs: Tensor, labels: Tensor, out: Tensor, wide: Wide) -> Wide:
    """Gradient of every row's mean cross-entropy with respect to its own weights, into `out`. [row, weight]

    inputs: [row, sample, ...], framed; labels: int64 [row, sample]. What the slopes of `wide` are made of comes back
    with it.
    """
    parts, kept = list(_parts(plan)), list[Kept]()
    values = _forward(parts, weights, inputs, kept).contiguous()
    rows, batch, classes = values.shape
    slope = torch.empty_like(values)
    kernels.classify[(rows * batch,)](values, labels.contiguous(), slope, batch, CLASSES=classes, BC=power(classes))
    return _backward(parts, weights, kept, slope, out, wide)


def scores(plan: Plan, weights: Tensor, inputs: Tensor) -> Tensor:
    """What every row's network makes of its inputs. [row, sample, output]

    inputs: [row, sample, ...], or [1, sample, ...] where they are the same for all rows.
    """
    given = framed(plan, inputs, fill=True)
    return _forward(list(_parts(plan)), weights, given, None)[:, : inputs.shape[1]]


def _parts(plan: Plan) -> Iterator[Part]:
    layers = list(plan.layers)
    while layers:
        layer, block = layers[0], pooled.block(layers)
        relu = block is None and layer.kind in (LINEAR, CONVOLUTION) and len(layers) > 1 and layers[1].kind == RELU
        yield Part(layer, relu, block)
        del layers[: 3 if block else 1 + relu]


def _forward(parts: list[Part], weights: Tensor, values: Tensor, kept: list[Kept] | None) -> Tensor:
    """Part after part; what is the same for all rows stays one row up to the first layer that has weights.

    values: framed for the first part, and so is what goes from one part to the next.
    """
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        layer, relu, block = part
        if layer.vector and values.dim() > 3:
            values = values.flatten(2)
        given, winners = values, None
        if block is not None:
            pads = after if after is not None and after.layer.kind == CONVOLUTION else None
            border = (0, 0) if pads is None else (pads.layer.pad_h, pads.layer.pad_w)
            last = values.shape[1] > SAMPLES if pads is None else pads.block is not None
            values, winners = pooled.forward(block, weights, given, border, last, which=kept is not None)
        elif layer.kind == LINEAR:
            values = linear(layer, weights, values.expand(len(weights), -1, -1), relu)
        elif layer.kind == CONVOLUTION:
            values = convolve(layer, weights, given, relu)
        elif layer.kind == RELU:
            values = values.relu()
        elif layer.kind == TANH:
            values = values.tanh()
        else:
            values, winners = maxpool(layer, values, which=kept is not None)
        if kept is not None:
            kept.append(Kept(given, values, winners))
        if block is None and after is not None:
            values = _framed(after, values)
    return values


def _backward(parts: list[Part], weights: Tensor, kept: list[Kept], slope: Tensor, out: Tensor, wide: Wide) -> Wide:
    for at in reversed(range(len(parts))):
        (layer, relu, block), (given, made, winners) = parts[at], kept[at]
        last = layer if block is None else block.pool
        if not layer.vector and slope.dim() == 3:
            slope = slope.view(*slope.shape[:2], last.out_channels, last.out_height, last.out_width)
        if relu or layer.kind == RELU:
            slope = torch.ops.aten.threshold_backward(slope, made.view_as(slope), 0)
        if block is not None:
            assert winners is not None
            slope = pooled.backward(block, weights, given, winners, slope, out, first=at == 0)
        elif layer.kind == LINEAR:
            given, slope = given.contiguous(), slope.contiguous()
            if wide.last > 0 and layer.weight == wide.first:
                wide = replace(wide, given=given, slopes=slope)
            slope = linear_back(layer, weights, given, slope, out, first=at == 0)
        elif layer.kind == CONVOLUTION:
            slope = convolve_back(layer, weights, given, slope, out, first=at == 0)
        elif layer.kind == TANH:
            slope = slope * (1.0 - made.view_as(slope).square())
        elif layer.kind == MAXPOOL:
            assert winners is not None
            slope = maxpool_back(layer, winners, slope)
    return wide
