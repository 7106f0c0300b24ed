"""Convolutions of stacked networks that torch differentiates, forward and backward by our kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from surefed.learn.cuda.launch import bordered, convolve, convolve_back
from surefed.learn.native.plan import CONVOLUTION, Layer


def knows(module: nn.Module) -> bool:
    """Whether this is a convolution of images that the kernels have."""
    plain = isinstance(module, nn.Conv2d) and module.groups == 1 and tuple(module.dilation) == (1, 1)
    return plain and not isinstance(module.padding, str)


def convolution(module: nn.Conv2d, values: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """values: [row, sample, channel, height, width]; weight: [row, out, in, ...]; bias: [row, out]"""
    out: Tensor = _Convolution.apply(values, weight, _layer(module, values))  # type: ignore[no-untyped-call]
    return out if bias is None else out + bias[:, None, :, None, None]


def _layer(module: nn.Conv2d, values: Tensor) -> Layer:
    (height, width), kernel, stride = values.shape[3:], module.kernel_size, module.stride
    pad: Any = module.padding
    return Layer(
        kind=CONVOLUTION, channels=module.in_channels, height=height, width=width, out_channels=module.out_channels,
        out_height=(height + 2 * pad[0] - kernel[0]) // stride[0] + 1,
        out_width=(width + 2 * pad[1] - kernel[1]) // stride[1] + 1,
        kernel_h=kernel[0], kernel_w=kernel[1], stride_h=stride[0], stride_w=stride[1], pad_h=pad[0], pad_w=pad[1],
        weight=0, bias=-1,
    )  # fmt: skip


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, layer: Layer) -> Tensor:
        given = bordered(layer, values)
        ctx.layer = layer
        ctx.save_for_backward(given, weight)
        return convolve(layer, weight.flatten(1), given)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, Tensor, None]:
        given, weight = ctx.saved_tensors
        by_weight = given.new_empty(weight.shape)
        back = convolve_back(
            ctx.layer, weight.flatten(1), given, slope, by_weight.flatten(1), first=not ctx.needs_input_grad[0]
        )
        return back if ctx.needs_input_grad[0] else None, by_weight, None
