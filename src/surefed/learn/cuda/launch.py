"""How the kernels of each layer are launched: for which part of it a program is, and how large."""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor
from torch.nn import functional as F

from surefed.learn.cuda import layers as kernels
from surefed.learn.native.plan import Layer

PRECISION = "tf32x3"
"""Of products of patches: three passes of the tensor cores, which together keep the digits of float32."""

FORWARD, SLOPE, BACK = "forward", "slope", "back"
TILES = {
    FORWARD: {16: (64, 16, 2), 32: (64, 16, 2), 64: (64, 16, 4)},
    SLOPE: {16: (32, 32, 1), 32: (32, 32, 2), 64: (32, 32, 4)},
    BACK: {16: (256, 16, 4), 32: (64, 16, 2), 64: (64, 16, 4)},
}
"""Places, inputs and warps of a program of each kind of convolution, by its channels; for 16 the best on an H200."""

DIRECT = {FORWARD: (128, 2), BACK: (256, 4)}
"""Places and warps of a program where there are few channels; the best on an H200."""
CHANNELS, TAPS = 8, 49
"""Channels, and pixels of a patch in each of them, up to which a convolution goes from pixel to pixel."""

OUTER = (16, 128)
"""Outputs and inputs to a program that makes the slopes of a linear layer."""

LINEAR_TILE, LINEAR_BACK_TILE = (8, 128, 2), (16, 128, 1)
"""Outputs, inputs and warps of a program of a linear layer, forward and back; one warp has all outputs of an input."""

PLACES = 256
"""Places of an image that one program goes through for the slopes of a convolution's weights."""

SAMPLES = 8
"""Samples up to which a linear layer has kernels of its own, which want them first in memory; more are worth a matrix
product, which takes them as they lie."""


def _weight(layer: Layer, flat: Tensor, inner: int) -> Tensor:
    """A layer's weights as [row, out, in], a view."""
    size = layer.out_channels * inner
    return flat[:, layer.weight : layer.weight + size].view(len(flat), layer.out_channels, inner)


def _bias(layer: Layer, flat: Tensor) -> Tensor:
    return flat[:, layer.bias : layer.bias + layer.out_channels]


def linear(layer: Layer, weights: Tensor, values: Tensor, relu: bool = False) -> Tensor:
    """What a layer makes of vectors. [row, sample, out]"""
    rows, batch, channels = values.shape
    if batch <= SAMPLES:
        outputs, inputs, warps = LINEAR_TILE
        out = values.new_empty(rows, batch, layer.out_channels)
        kernels.linear[(rows, triton.cdiv(layer.out_channels, outputs))](
            values.contiguous(), weights, out, weights.stride(0), layer.weight, layer.bias, **_sizes(layer, batch),
            BIAS=layer.bias >= 0, RELU=relu, BO=outputs, BI=inputs, num_warps=warps,
        )  # fmt: skip
        return out
    weight = _weight(layer, weights, channels).transpose(1, 2)
    bias = None if layer.bias < 0 else _bias(layer, weights)[:, None]
    out = torch.bmm(values, weight) if bias is None else torch.baddbmm(bias, values, weight)
    return out.relu_() if relu else out


def linear_back(layer: Layer, weights: Tensor, given: Tensor, slope: Tensor, out: Tensor, first: bool) -> Tensor:
    """Slopes of a layer's weights, into `out`, and of what it was given, unless it is the first."""
    rows, batch, channels = given.shape
    if batch > SAMPLES:
        torch.bmm(slope.transpose(1, 2), given, out=_weight(layer, out, channels))
        if layer.bias >= 0:
            torch.sum(slope, 1, out=_bias(layer, out))
        return slope if first else torch.bmm(slope, _weight(layer, weights, channels))
    sizes = _sizes(layer, batch)
    grid = (rows, triton.cdiv(layer.out_channels, OUTER[0]), triton.cdiv(channels, OUTER[1]))
    kernels.outer[grid](
        given, slope, out, out.stride(0), layer.weight, layer.bias, **sizes, BIAS=layer.bias >= 0, BO=OUTER[0],
        BI=OUTER[1], num_warps=4,
    )  # fmt: skip
    if first:
        return slope
    outputs, inputs, warps = LINEAR_BACK_TILE
    back = torch.empty_like(given)
    kernels.linear_back[(rows, triton.cdiv(channels, inputs))](
        slope, weights, back, weights.stride(0), layer.weight, **sizes, BO=outputs, BI=inputs, num_warps=warps
    )
    return back


def _sizes(layer: Layer, batch: int) -> dict[str, int]:
    return {"IN": layer.channels, "OUT": layer.out_channels, "BATCH": batch}


def _tile(kind: str, channels: int) -> tuple[int, int, int]:
    """Places, inputs and warps of a program; many channels leave room for few places."""
    return TILES[kind].get(power(channels), (16, 16, 4))


def _program(kind: str, layer: Layer, channels: int) -> dict[str, Any]:
    """What a convolution's program is made for."""
    if channels <= CHANNELS and layer.kernel_h * layer.kernel_w <= TAPS:
        places, warps = DIRECT[kind]
        return {"BP": places, "BK": 16, "BO": CHANNELS, "DIRECT": True, "num_warps": warps}
    places, inputs, warps = _tile(kind, channels)
    return {"BP": places, "BK": inputs, "BO": power(channels), "DIRECT": False, "num_warps": warps}


def power(number: int, least: int = 16) -> int:
    """The power of two that such a number fits in."""
    return max(least, 1 << (number - 1).bit_length())


def bordered(layer: Layer, values: Tensor) -> Tensor:
    """Images with the zeros around them that the layer pads with."""
    return F.pad(values, (layer.pad_w, layer.pad_w, layer.pad_h, layer.pad_h)).contiguous()


def _spread(layer: Layer, slope: Tensor) -> Tensor:
    """Slopes where their patches' corners lie, zeros between and around them, as far as a kernel reaches back."""
    shape = (layer.height + layer.kernel_h - 1, layer.width + layer.kernel_w - 1)
    spread = slope.new_zeros(*slope.shape[:3], *shape)
    rows = _span(layer.kernel_h - 1 - layer.pad_h, layer.stride_h, layer.out_height, shape[0])
    columns = _span(layer.kernel_w - 1 - layer.pad_w, layer.stride_w, layer.out_width, shape[1])
    spread[..., rows[0], columns[0]] = slope[..., rows[1], columns[1]]
    return spread


def _span(first: int, stride: int, count: int, extent: int) -> tuple[slice, slice]:
    """Where `count` values, `stride` apart from `first` on, lie within an extent, and which of them do."""
    skipped = max(0, -(first // stride))
    begin = first + skipped * stride
    kept = min(count - skipped, -((begin - extent) // stride))
    return slice(begin, begin + (kept - 1) * stride + 1, stride), slice(skipped, skipped + kept)


def _kernel(layer: Layer) -> dict[str, int]:
    return {"KH": layer.kernel_h, "KW": layer.kernel_w}


def convolve(layer: Layer, weights: Tensor, given: Tensor, relu: bool = False) -> Tensor:
    """What a layer makes of images with their border, the same for all rows if there is but one row of them.

    [row, sample, out, height, width]
    """
    program = _program(FORWARD, layer, layer.out_channels)
    rows, (batch, channels, height, width) = len(weights), given.shape[1:]
    own = batch if len(given) == rows else 0
    out = given.new_empty(rows, batch, layer.out_channels, layer.out_height, layer.out_width)
    kernels.convolve[(rows * batch, triton.cdiv(layer.out_height * layer.out_width, program["BP"]))](
        given, weights, out, weights.stride(0), layer.weight, layer.bias, batch, own, C=channels, H=height, W=width,
        O=layer.out_channels, OH=layer.out_height, OW=layer.out_width, **_kernel(layer), SH=layer.stride_h,
        SW=layer.stride_w, FLIP=False, BIAS=layer.bias >= 0, RELU=relu, PRECISION=PRECISION, **program, num_stages=1,
    )  # fmt: skip
    return out


def convolve_back(layer: Layer, weights: Tensor, given: Tensor, slope: Tensor, out: Tensor, first: bool) -> Tensor:
    """Slopes of a layer's weights, into `out`, and of what it was given, unless it is the first."""
    rows, batch, channels, height, width = given.shape
    places, inputs, warps = _tile(SLOPE, layer.out_channels)
    slope = slope.contiguous()
    patch, bias = layer.channels * layer.kernel_h * layer.kernel_w, layer.bias >= 0
    size = layer.out_channels * (patch + bias)
    parts = triton.cdiv(layer.out_height * layer.out_width, PLACES)
    partial = given.new_empty(rows, batch * parts, size)
    kernels.convolve_slope[(rows * batch * parts, triton.cdiv(patch, inputs))](
        given, slope, partial, C=channels, H=height, W=width, O=layer.out_channels, OH=layer.out_height,
        OW=layer.out_width, **_kernel(layer), SH=layer.stride_h, SW=layer.stride_w, BIAS=bias, BP=places,
        BK=inputs, BO=power(layer.out_channels), PARTS=parts, PRECISION=PRECISION, num_warps=warps, num_stages=1,
    )  # fmt: skip
    torch.sum(partial, 1, out=out[:, layer.weight : layer.weight + size])  # the bias lies behind the weights
    if first:
        return slope
    spread = _spread(layer, slope)
    program = _program(BACK, layer, layer.channels)
    back = slope.new_empty(rows, batch, layer.channels, layer.height, layer.width)
    kernels.convolve[(rows * batch, triton.cdiv(layer.height * layer.width, program["BP"]))](
        spread, weights, back, weights.stride(0), layer.weight, 0, batch, batch, C=layer.out_channels, H=spread.shape[3],
        W=spread.shape[4], O=layer.channels, OH=layer.height, OW=layer.width, **_kernel(layer), SH=1, SW=1, FLIP=True,
        BIAS=False, RELU=False, PRECISION=PRECISION, **program, num_stages=1,
    )  # fmt: skip
    return back


def _windows(layer: Layer) -> dict[str, int]:
    size = {"H": layer.height, "W": layer.width, "OH": layer.out_height, "OW": layer.out_width}
    return size | _kernel(layer)


def maxpool(layer: Layer, values: Tensor, which: bool) -> tuple[Tensor, Tensor | None]:
    """The largest of each window and, if asked, which of the window it was."""
    out = values.new_empty(*values.shape[:2], layer.out_channels, layer.out_height, layer.out_width)
    index = torch.empty_like(out, dtype=torch.int8) if which else None
    count = out.numel()
    kernels.maxpool[(triton.cdiv(count, 1024),)](
        values.contiguous(), out, out if index is None else index, count, **_windows(layer), WHICH=which, BLOCK=1024
    )
    return out, index


def maxpool_back(layer: Layer, index: Tensor, slope: Tensor) -> Tensor:
    """Slopes of what was pooled."""
    back = slope.new_empty(*slope.shape[:2], layer.channels, layer.height, layer.width)
    count = back.numel()
    kernels.maxpool_back[(triton.cdiv(count, 1024),)](
        slope.contiguous(), index, back, count, **_windows(layer), BLOCK=1024
    )
    return back
