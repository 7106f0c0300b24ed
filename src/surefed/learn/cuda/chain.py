"""A chain of layers for a stack of rows: scores forward, gradients backward, without automatic differentiation."""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from surefed.learn.cuda import layers as kernels
from surefed.learn.native.plan import CONVOLUTION, LINEAR, MAXPOOL, RELU, TANH, Layer, Plan

PRECISION = "tf32x3"
"""Of products of patches: three passes of the tensor cores, which together keep the digits of float32."""


FORWARD, SLOPE, BACK = (128, 32, 4), (32, 32, 2), (64, 2)
"""Places, inputs and warps of a program of each kind of convolution; measured best on an H200."""


def knows(plan: Plan) -> bool:
    """Whether the kernels for GPUs have all these layers; pooling windows must not overlap."""
    return all(
        layer.kind != MAXPOOL or (layer.kernel_h == layer.stride_h and layer.kernel_w == layer.stride_w)
        for layer in plan.layers
    )


def gradient(plan: Plan, weights: Tensor, inputs: Tensor, labels: Tensor, out: Tensor) -> None:
    """Gradient of every row's mean cross-entropy with respect to its own weights, into `out`. [row, weight]

    inputs: [row, sample, ...]; labels: int64 [row, sample].
    """
    chain = list(plan.layers)
    batch = labels.shape[1]
    kept: list[tuple[Tensor, Tensor | None]] = []  # of every layer: its input, and which pixel won
    values = inputs
    skip = False
    for at, layer in enumerate(chain):
        if layer.vector and values.dim() > 3:
            values = values.flatten(2)
        fused = at + 1 < len(chain) and chain[at + 1].kind == RELU and layer.kind in (LINEAR, CONVOLUTION)
        index = None
        given = values
        if skip:
            pass  # the layer before has already cut off what is negative
        elif layer.kind == LINEAR:
            values = _linear(layer, weights, values)
            values = values.relu_() if fused else values
        elif layer.kind == CONVOLUTION:
            values = _convolution(layer, weights, values, fused)
        elif layer.kind == RELU:
            values = values.relu()
        elif layer.kind == TANH:
            values = values.tanh()
        else:
            values, index = _maxpool(layer, values)
        kept.append((given, index))
        skip = fused
    slope = values.softmax(-1)
    slope.scatter_add_(-1, labels[..., None], torch.full_like(slope[..., :1], -1.0)).div_(batch)
    _backward(chain, weights, kept, values, slope, out)


def _backward(
    chain: list[Layer],
    weights: Tensor,
    kept: list[tuple[Tensor, Tensor | None]],
    last: Tensor,
    slope: Tensor,
    out: Tensor,
) -> None:
    outputs = [*(given for given, _ in kept[1:]), last]
    through = False  # whether the pooling after a ReLU has already gone back through it
    for at in reversed(range(len(chain))):
        layer, (given, index) = chain[at], kept[at]
        if not layer.vector and slope.dim() == 3:
            slope = slope.view(*slope.shape[:2], layer.out_channels, layer.out_height, layer.out_width)
        if layer.kind == LINEAR:
            slope = _linear_back(layer, weights, given, slope, out, first=at == 0)
        elif layer.kind == CONVOLUTION:
            slope = _convolution_back(layer, weights, given, slope, out, first=at == 0)
        elif layer.kind == RELU:
            slope = slope if through else torch.where(outputs[at].view_as(slope) > 0, slope, 0.0)
            through = False
        elif layer.kind == TANH:
            slope = slope * (1.0 - outputs[at].view_as(slope).square())
        else:
            assert index is not None
            through = at > 0 and chain[at - 1].kind == RELU
            slope = _maxpool_back(layer, given, index, slope, relu=through)


def _weight(layer: Layer, flat: Tensor, inner: int) -> Tensor:
    """A layer's weights as [row, out, in], a view."""
    size = layer.out_channels * inner
    return flat[:, layer.weight : layer.weight + size].view(len(flat), layer.out_channels, inner)


def _bias(layer: Layer, flat: Tensor) -> Tensor:
    return flat[:, layer.bias : layer.bias + layer.out_channels]


def _linear(layer: Layer, weights: Tensor, values: Tensor) -> Tensor:
    weight = _weight(layer, weights, layer.channels).transpose(1, 2)
    if layer.bias < 0:
        return torch.bmm(values, weight)
    return torch.baddbmm(_bias(layer, weights)[:, None], values, weight)


def _linear_back(layer: Layer, weights: Tensor, given: Tensor, slope: Tensor, out: Tensor, first: bool) -> Tensor:
    torch.bmm(slope.transpose(1, 2), given, out=_weight(layer, out, layer.channels))
    if layer.bias >= 0:
        torch.sum(slope, 1, out=_bias(layer, out))
    return slope if first else torch.bmm(slope, _weight(layer, weights, layer.channels))


def _shape(layer: Layer) -> dict[str, int]:
    return {
        "C": layer.channels, "H": layer.height, "W": layer.width,
        "O": layer.out_channels, "OH": layer.out_height, "OW": layer.out_width,
        "KH": layer.kernel_h, "KW": layer.kernel_w, "SH": layer.stride_h, "SW": layer.stride_w,
        "PH": layer.pad_h, "PW": layer.pad_w,
    }  # fmt: skip


def _power(number: int, least: int = 16) -> int:
    return max(least, 1 << (number - 1).bit_length())


def _convolution(layer: Layer, weights: Tensor, values: Tensor, relu: bool) -> Tensor:
    rows, batch = values.shape[:2]
    out = values.new_empty(rows, batch, layer.out_channels, layer.out_height, layer.out_width)
    grid = (rows * batch, triton.cdiv(layer.out_height * layer.out_width, FORWARD[0]))
    kernels.convolve[grid](
        values.contiguous(), weights, out, weights.stride(0), layer.weight, layer.bias, batch, **_shape(layer),
        BIAS=layer.bias >= 0, RELU=relu, BP=FORWARD[0], BK=FORWARD[1], BO=_power(layer.out_channels),
        PRECISION=PRECISION, num_warps=FORWARD[2],
    )  # fmt: skip
    return out


def _convolution_back(layer: Layer, weights: Tensor, given: Tensor, slope: Tensor, out: Tensor, first: bool) -> Tensor:
    rows, batch = given.shape[:2]
    slope, given = slope.contiguous(), given.contiguous()
    patch, bias = layer.channels * layer.kernel_h * layer.kernel_w, layer.bias >= 0
    size = layer.out_channels * (patch + bias)
    partial = given.new_empty(rows, batch, size)
    kernels.convolve_slope[(rows * batch, triton.cdiv(patch, SLOPE[1]))](
        given, slope, partial, **_shape(layer), BIAS=bias, BP=SLOPE[0], BK=SLOPE[1], BO=_power(layer.out_channels),
        PRECISION=PRECISION, num_warps=SLOPE[2],
    )  # fmt: skip
    torch.sum(partial, 1, out=out[:, layer.weight : layer.weight + size])  # the bias lies behind the weights
    if first:
        return slope
    back = torch.empty_like(given)
    kernels.convolve_back[(rows * batch, triton.cdiv(layer.height * layer.width, BACK[0]))](
        slope, weights, back, weights.stride(0), layer.weight, batch, **_shape(layer),
        BP=BACK[0], BO=_power(layer.out_channels), BC=_power(layer.channels), PRECISION=PRECISION, num_warps=BACK[1],
    )  # fmt: skip
    return back


def _windows(layer: Layer) -> dict[str, int]:
    shape = _shape(layer)
    return {name: shape[name] for name in ("H", "W", "OH", "OW", "KH", "KW")}


def _maxpool(layer: Layer, values: Tensor) -> tuple[Tensor, Tensor]:
    out = values.new_empty(*values.shape[:2], layer.out_channels, layer.out_height, layer.out_width)
    index = torch.empty_like(out, dtype=torch.int8)
    count = out.numel()
    kernels.maxpool[(triton.cdiv(count, 1024),)](values.contiguous(), out, index, count, **_windows(layer), BLOCK=1024)
    return out, index


def _maxpool_back(layer: Layer, given: Tensor, index: Tensor, slope: Tensor, relu: bool) -> Tensor:
    back = torch.empty_like(given)
    count = back.numel()
    kernels.maxpool_back[(triton.cdiv(count, 1024),)](
        slope.contiguous(), index, given, back, count, **_windows(layer), RELU=relu, BLOCK=1024
    )
    return back
