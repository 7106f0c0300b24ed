"""A convolution, a ReLU and a pooling without overlap as one step, forward and backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import triton
from torch import Tensor

from surefed.learn.cuda import squares
from surefed.learn.cuda.launch import TAPS
from surefed.learn.native.plan import CONVOLUTION, MAXPOOL, RELU, Layer

PLACES = 4
"""Places of a window up to which a program has a sum for each."""
SQUARE = (2, 2)
"""Pixels that the way back takes together."""


class Tile(NamedTuple):
    """Channels, squares and warps of a program."""

    channels: int
    squares: int
    warps: int


FEW, MANY, LOTS = Tile(4, 32, 1), Tile(8, 256, 4), 1 << 20
"""Where rows have few squares and, from LOTS of all rows on, many."""
BACK = Tile(2, 32, 1)
"""On the way back."""
SLOPE = ((128, 32, 4), (32, 32, 1))
"""Squares, inputs and warps of a program for slopes of weights, where a channel has one block of inputs or several."""
FILL = 64
"""From so many samples on those that are predicted come in multiples of it, so that few kernels are compiled."""


class Block(NamedTuple):
    """The three layers, of which the ReLU says nothing."""

    convolution: Layer
    pool: Layer


def block(layers: Sequence[Layer]) -> Block | None:
    """The block that a chain begins with, if it does and there are kernels for it."""
    if [layer.kind for layer in layers[:3]] != [CONVOLUTION, RELU, MAXPOOL]:
        return None
    own, _, pool = layers[:3]
    plain = own.stride_h == own.stride_w == 1 and own.kernel_h * own.kernel_w <= TAPS
    within = own.pad_h < own.kernel_h and own.pad_w < own.kernel_w
    apart = (pool.kernel_h, pool.kernel_w) == (pool.stride_h, pool.stride_w)
    return Block(own, pool) if plain and within and apart and pool.kernel_h * pool.kernel_w <= PLACES else None


def framed(of: Block, inputs: Tensor, fill: bool) -> Tensor:
    """Inputs with the border that the block needs, samples last in memory. [..., sample, channel, height, width]

    fill: many samples up to a multiple of FILL, with some that show nothing.
    """
    own = of.convolution
    samples, channels, height, width = inputs.shape[-4:]
    size = triton.cdiv(samples, FILL) * FILL if fill and samples >= FILL else samples
    shape = *inputs.shape[:-4], channels, height + 2 * own.pad_h, width + 2 * own.pad_w, size
    out = inputs.new_zeros(shape)
    rows, columns = slice(own.pad_h, own.pad_h + height), slice(own.pad_w, own.pad_w + width)
    out[..., rows, columns, :samples] = inputs.movedim(-4, -1)
    return out.movedim(-1, -4)


def forward(
    of: Block, weights: Tensor, given: Tensor, border: tuple[int, int], last: bool, which: bool
) -> tuple[Tensor, Tensor | None]:
    """The pooled images, with a border for the next layer, and which place of each window it was, if asked.

    given: with their border; the same for all rows if there is but one row of them.
    last: whether samples come last in memory.
    """
    own, pool = of
    rows, samples = len(weights), given.shape[1]
    shape = own.out_channels, pool.out_height + 2 * border[0], pool.out_width + 2 * border[1]
    made = given.new_empty if border == (0, 0) else given.new_zeros
    out = made(rows, *shape, samples).movedim(-1, 1) if last else made(rows, samples, *shape)
    inner = out[..., border[0] : border[0] + pool.out_height, border[1] : border[1] + pool.out_width]
    count = samples * pool.out_height * pool.out_width
    index = given.new_empty(rows, own.out_channels, count, dtype=torch.int8) if which else None
    tile = MANY if rows * count >= LOTS else FEW
    squares.convolve[_grid(tile, count, rows, own.out_channels)](
        given, weights, inner, out if index is None else index, weights.stride(0), own.weight, own.bias,
        0 if len(given) < rows else given.stride(0), out.stride(0), **_sizes(of, samples), **_strides("I", given),
        **_strides("O", inner), H=0, W=0, **_program(tile), FLIP=False, POOL=True, BIAS=own.bias >= 0, WHICH=which,
    )  # fmt: skip
    return out, index


def backward(
    of: Block, weights: Tensor, given: Tensor, index: Tensor, slope: Tensor, out: Tensor, first: bool
) -> Tensor:
    """Slopes of the block's weights, into `out`, and of what it was given, unless it is the first.

    given: as it was, with its border. slope: [row, sample, channel, height, width] of what the block made.
    """
    own = of.convolution
    rows, samples = slope.shape[:2]
    sizes = _sizes(of, samples)
    inputs = own.channels * own.kernel_h * own.kernel_w
    places, patch, warps = SLOPE[0] if inputs <= SLOPE[0][1] else SLOPE[1]
    squares.slope[(rows * own.out_channels, triton.cdiv(inputs, patch))](
        given, slope, index, out, out.stride(0), own.weight, own.bias, given.stride(0), slope.stride(0), **sizes,
        **_strides("I", given), **_strides("O", slope), BIAS=own.bias >= 0, BP=places, BK=patch, num_warps=warps,
    )  # fmt: skip
    if first:
        return slope
    high, wide = SQUARE
    lines, columns = triton.cdiv(own.height, high), triton.cdiv(own.width, wide)
    height, width = lines * high + own.kernel_h - 1, columns * wide + own.kernel_w - 1
    apart = slope.new_empty(rows, own.out_channels, height, width, samples)
    windows = {name: sizes[name] for name in ("O", "N", "BH", "BW", "PH", "PW")}
    squares.spread[(triton.cdiv(apart.numel(), 1024),)](
        slope, index, apart, slope.stride(0), apart.numel(), **windows, **_strides("I", slope), H=height, W=width,
        TOP=own.kernel_h - 1 - own.pad_h, LEFT=own.kernel_w - 1 - own.pad_w, BLOCK=1024,
    )  # fmt: skip
    back = slope.new_empty(rows, own.channels, own.height, own.width, samples).movedim(-1, 1)
    squares.convolve[_grid(BACK, samples * lines * columns, rows, own.channels)](
        apart, weights, back, back, weights.stride(0), own.weight, 0, apart.stride(0), back.stride(0),
        C=own.out_channels, O=own.channels, N=samples, BH=lines, BW=columns, PH=high, PW=wide, KH=own.kernel_h,
        KW=own.kernel_w, **_strides("I", apart.movedim(-1, 1)), **_strides("O", back), H=own.height, W=own.width,
        **_program(BACK), FLIP=True, POOL=False, BIAS=False, WHICH=False,
    )  # fmt: skip
    return back


def _grid(tile: Tile, count: int, rows: int, channels: int) -> tuple[int, int]:
    return triton.cdiv(count, tile.squares) * rows, triton.cdiv(channels, tile.channels)


def _program(tile: Tile) -> dict[str, int]:
    return {"BO": tile.channels, "BP": tile.squares, "num_warps": tile.warps}


def _strides(name: str, images: Tensor) -> dict[str, int]:
    """Of a row of images: from sample to sample, from channel to channel, from line to line, from pixel to pixel."""
    return {f"{name}{axis}": stride for axis, stride in zip("SCYX", images.stride()[1:], strict=True)}


def _sizes(of: Block, samples: int) -> dict[str, int]:
    """Of channels, samples, windows and kernels."""
    own, pool = of
    return {
        "C": own.channels, "O": own.out_channels, "N": samples, "BH": pool.out_height, "BW": pool.out_width,
        "PH": pool.kernel_h, "PW": pool.kernel_w, "KH": own.kernel_h, "KW": own.kernel_w,
    }  # fmt: skip
