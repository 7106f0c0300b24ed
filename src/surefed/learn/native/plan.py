"""A chain of common layers, written down for the kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from torch import nn

LINEAR, CONVOLUTION, RELU, MAXPOOL, TANH = range(5)
_FIELDS = (
    "kind", "vector", "channels", "height", "width", "out_channels", "out_height", "out_width",
    "kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h", "pad_w", "weight", "bias",
)  # fmt: skip


class Layer(ctypes.Structure):
    """`Layer` of learning.c."""

    _fields_ = [(name, ctypes.c_int64) for name in _FIELDS]


@dataclass(frozen=True)
class Plan:
    """The layers, and how many weights and outputs they have."""

    layers: ctypes.Array[Layer]
    weights: int
    outputs: int


def plan(module: nn.Module, shape: tuple[int, ...]) -> Plan | None:
    """The layers of a module for inputs of this shape, or None if there is one that the kernels do not know."""
    try:
        layers = _layers(list(_chain(module)), shape)
    except LookupError:
        return None
    last = layers[-1] if layers else None
    if last is None or not last.vector or len(layers) > 60:
        return None
    weights = sum(value.numel() for value in module.parameters())
    return Plan((Layer * len(layers))(*layers), weights, last.out_channels)


def _chain(module: nn.Module) -> Iterator[nn.Module]:
    """The layers one after the other."""
    if module._forward_hooks or module._forward_pre_hooks:
        raise LookupError("hooks are left to torch")
    if type(module) is nn.Sequential:
        for child in module._modules.values():
            assert child is not None
            yield from _chain(child)
    else:
        yield module


def _layers(chain: list[nn.Module], shape: tuple[int, ...]) -> list[Layer]:
    """What each layer does to which shape; LookupError where one is unknown or does not fit."""
    layers: list[Layer] = []
    seen: set[int] = set()
    vector, now, at = len(shape) == 1, shape, 0
    for module in chain:
        if any(id(value) in seen for value in module.parameters()):
            raise LookupError("a weight that is used twice")
        seen.update(id(value) for value in module.parameters())
        if isinstance(module, nn.Flatten) and module.start_dim == 1 and module.end_dim == -1:
            vector, now = True, (prod(now),)
            continue
        if type(module) is nn.Identity:
            continue
        known = {nn.Linear: _linear, nn.Conv2d: _convolution, nn.MaxPool2d: _maxpool}.get(type(module), _pointwise)
        values = known(module, vector, now)
        bias = getattr(module, "bias", None)
        size = sum(value.numel() for value in module.parameters())
        first = at + size - (bias.numel() if bias is not None else 0)
        layers.append(Layer(**values, weight=at, bias=first if bias is not None else -1))
        at += size
        now = (values["out_channels"],) if vector else (
            values["out_channels"], values["out_height"], values["out_width"]
        )  # fmt: skip
    return layers


def _same(vector: bool, shape: tuple[int, ...], kind: int) -> dict[str, int]:
    if not vector and len(shape) != 3:
        raise LookupError("inputs that are neither vectors nor images")
    channels, height, width = (shape[0], 1, 1) if vector else shape
    made = dict.fromkeys(_FIELDS[:-2], 0)
    made |= {"kind": kind, "vector": int(vector), "channels": channels, "height": height, "width": width}
    return made | {"out_channels": channels, "out_height": height, "out_width": width}


def _pointwise(module: nn.Module, vector: bool, shape: tuple[int, ...]) -> dict[str, int]:
    known = {nn.ReLU: RELU, nn.Tanh: TANH}
    if type(module) not in known:
        raise LookupError(type(module).__name__)
    return _same(vector, shape, known[type(module)])


def _linear(module: nn.Module, vector: bool, shape: tuple[int, ...]) -> dict[str, int]:
    assert isinstance(module, nn.Linear)
    if not vector or shape != (module.in_features,):
        raise LookupError("a linear layer on something else than a vector")
    return _same(True, shape, LINEAR) | {"out_channels": module.out_features}


def _convolution(module: nn.Module, vector: bool, shape: tuple[int, ...]) -> dict[str, int]:
    assert isinstance(module, nn.Conv2d)
    plain = module.groups == 1 and tuple(module.dilation) == (1, 1) and module.padding_mode == "zeros"
    if vector or not plain or isinstance(module.padding, str) or shape[0] != module.in_channels:
        raise LookupError("a convolution with groups, dilation or unusual padding")
    return _window(_same(vector, shape, CONVOLUTION), module.kernel_size, module.stride, module.padding) | {
        "out_channels": module.out_channels
    }


def _maxpool(module: nn.Module, vector: bool, shape: tuple[int, ...]) -> dict[str, int]:
    assert isinstance(module, nn.MaxPool2d)
    plain = not module.ceil_mode and not module.return_indices and _two(module.dilation) == (1, 1)
    if vector or not plain or _two(module.padding) != (0, 0):
        raise LookupError("a pooling with padding, dilation or ceiling")
    return _window(_same(vector, shape, MAXPOOL), _two(module.kernel_size), _two(module.stride), (0, 0))


def _two(value: int | tuple[int, ...]) -> tuple[int, ...]:
    return (value, value) if isinstance(value, int) else tuple(value)


def _window(
    made: dict[str, int], kernel: tuple[int, ...], stride: tuple[int, ...], pad: tuple[int, ...]
) -> dict[str, int]:
    made |= {"kernel_h": kernel[0], "kernel_w": kernel[1], "stride_h": stride[0], "stride_w": stride[1]}
    made |= {"pad_h": pad[0], "pad_w": pad[1]}
    made["out_height"] = (made["height"] + 2 * pad[0] - kernel[0]) // stride[0] + 1
    made["out_width"] = (made["width"] + 2 * pad[1] - kernel[1]) // stride[1] + 1
    if made["out_height"] < 1 or made["out_width"] < 1:
        raise LookupError("a window larger than the image")
    return made
