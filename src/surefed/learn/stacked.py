"""Modules made of known layers as batched operations over a stack of clients: no vmap, no per-client call.

A module of somebody's own joins in by saying, in an attribute of its class, what it is:

    each_sample_alone = True    it has no weights and looks at one sample at a time
    sums_children = True        it gives the sum of what its children make of its input, as a residual block does
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from surefed.learn import layers
from surefed.learn.layers import Layer, Pass, Where
from surefed.learn.likelihood import LogNoise

_ELEMENTWISE = (
    nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Hardtanh, nn.Identity,
)  # fmt: skip

KNOWN: dict[type[nn.Module], Callable[[Any, Where], Layer]] = {
    **dict.fromkeys(_ELEMENTWISE, layers.elementwise),
    **dict.fromkeys((nn.MaxPool1d, nn.AvgPool1d, nn.AdaptiveAvgPool1d), layers.pooling(1)),
    **dict.fromkeys((nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d), layers.pooling(2)),
    **dict.fromkeys((nn.Dropout1d, nn.Dropout2d, nn.Dropout3d), layers.dropout(channels=True)),
    **dict.fromkeys(layers.BATCH_NORMS, layers.batch_norm),
    LogNoise: layers.log_noise,
    nn.Conv1d: layers.convolution(F.conv1d, 1),
    nn.Conv2d: layers.convolution(F.conv2d, 2),
    nn.Flatten: layers.flatten,
    nn.Dropout: layers.dropout(channels=False),
    nn.GroupNorm: layers.group_norm,
    nn.LayerNorm: layers.layer_norm,
    nn.Linear: layers.linear,
}
"""How each type of layer is made to serve a stack; exactly that type, because a subclass may do anything."""


def stacked(module: nn.Module) -> Layer | None:
    """A stacked version of a module made of known layers, or None."""
    kept = [value for name, value in module.named_buffers() if not name.endswith("num_batches_tracked")]
    where = {id(value): at for values in (module.parameters(), kept) for at, value in enumerate(values)}
    try:
        return _layer(module, where)
    except LookupError:
        return None


def _layer(module: nn.Module, where: Where) -> Layer:
    """The stacked version of a layer or a container; LookupError where one is unknown."""
    kind = type(module)
    if module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module):
        raise LookupError("left to vmap")
    if kind in KNOWN:
        return KNOWN[kind](module, where)
    owned = any(value is not None for value in chain(module._parameters.values(), module._buffers.values()))
    if owned:
        raise LookupError(kind.__name__)
    if vars(kind).get("each_sample_alone") is True and not module._modules:
        return layers.alone(module, where)
    if kind is nn.Sequential:
        return _chain(_children(module, where))
    if vars(kind).get("sums_children") is True and module._modules:
        return _sum(_children(module, where))
    raise LookupError(kind.__name__)


def _children(module: nn.Module, where: Where) -> list[Layer]:
    # children() would pass over a layer that stands twice
    return [_layer(child, where) for child in module._modules.values() if child is not None]


def _chain(steps: list[Layer]) -> Layer:
    def layer(values: Tensor, given: Pass) -> Tensor:
        for step in steps:
            values = step(values, given)
        return values

    return layer


def _sum(parts: list[Layer]) -> Layer:
    def layer(values: Tensor, given: Pass) -> Tensor:
        first, *others = (part(values, given) for part in parts)
        for other in others:
            first = first + other
        return first

    return layer
