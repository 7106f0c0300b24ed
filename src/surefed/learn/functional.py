"""Any module as a function of flat weights, run for many clients in one call."""

from __future__ import annotations

import hashlib
import inspect
import math

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from surefed.core import DataError
from surefed.learn.stacked import stacked


class Network:
    """A module turned into a function of flat weights; one row of weights per client.

    The module is neither changed nor copied: its parameters give the layout and the initial weights. Chains of
    common layers run as batched matrix products; every other module runs through `torch.func.vmap`.
    """

    def __init__(self, module: nn.Module) -> None:
        buffers = [name for name, _ in module.named_buffers()]
        if buffers:
            raise DataError(
                f"the model keeps buffers ({', '.join(buffers[:3])}{', ...' if len(buffers) > 3 else ''}), which a "
                "belief over weights does not cover; replace BatchNorm by GroupNorm or LayerNorm"
            )
        drops = [name for name, layer in module.named_modules() if isinstance(layer, nn.modules.dropout._DropoutNd)]
        if drops:
            raise DataError(
                f"the model draws random numbers of its own (dropout in {', '.join(drops[:3])}); remove it: the "
                "weights are drawn anew at each step, which already regularises"
            )
        parameters = dict(module.named_parameters())
        if not parameters:
            raise DataError("the model has no parameters, so there is nothing to learn or to share")
        lazy = [name for name, value in parameters.items() if isinstance(value, nn.UninitializedParameter)]
        if lazy:
            raise DataError(f"the model does not know its shapes yet ({lazy[0]}); run one batch through it first")
        frozen = [name for name, value in parameters.items() if not value.requires_grad]
        if frozen:
            raise DataError(
                f"the model has frozen weights ({frozen[0]}), but a belief covers every weight; keep them out of its "
                "parameters, for example by transforming the data with them first"
            )
        self.module = module
        self.names = tuple(parameters)
        self.shapes = tuple(tuple(value.shape) for value in parameters.values())
        self.sizes = tuple(math.prod(shape) for shape in self.shapes)
        self.weights = sum(self.sizes)
        self._plan = stacked(module)
        self._initial = torch.cat([value.detach().float().reshape(-1) for value in parameters.values()])

    def initial(self) -> Tensor:
        """The weights the module held when it was given, flat. float32 [weight]"""
        return self._initial.clone()

    def fingerprint(self) -> str:
        """A digest of what the module computes: its layers, the code of those that are not torch's, its weights."""
        digest = hashlib.blake2b(repr(self.module).encode(), digest_size=16)
        for name, layer in self.module.named_modules():
            kind = type(layer)
            digest.update(f"{name}:{kind.__module__}.{kind.__qualname__}".encode())
            if not kind.__module__.startswith("torch."):
                digest.update(_source(kind))
        digest.update(repr((self.names, self.shapes)).encode())
        digest.update(self._initial.cpu().numpy().tobytes())
        return digest.hexdigest()

    def layer_of(self, weight: int) -> str:
        """The name of the parameter that a flat index falls into."""
        for name, size in zip(self.names, self.sizes, strict=True):
            if weight < size:
                return name
            weight -= size
        raise IndexError("there are not so many weights")

    def split(self, flat: Tensor) -> list[Tensor]:
        """Views of flat weights in the shapes of the parameters. [row, weight] -> [row, *shape] each"""
        parts = flat.split(self.sizes, dim=-1)
        return [part.view(-1, *shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def apply(self, parameters: list[Tensor], inputs: Tensor) -> Tensor:
        """Outputs of every row's network on its own inputs.

        Args:
            parameters: [row, *shape] each, as `split` gives them.
            inputs: [row, sample, ...].

        Returns:
            [row, sample, ...].
        """
        if self._plan is not None:
            return self._plan(parameters, inputs)

        def one(row: dict[str, Tensor], sample: Tensor) -> Tensor:
            return functional_call(self.module, row, (sample,))  # type: ignore[no-any-return]

        named = dict(zip(self.names, parameters, strict=True))
        return vmap(one)(named, inputs)

    def check(self, inputs: Tensor, classes: int) -> None:
        """Run two samples through two rows, to refuse an unfit module before any work is done."""
        sample = inputs[:2].expand(2, *inputs[:2].shape)
        try:
            with torch.no_grad():
                flat = self.initial().to(inputs.device).repeat(2, 1)
                outputs: object = self.apply(self.split(flat), sample)
        except Exception as error:  # somebody's own code may fail in any way
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise DataError(f"the model cannot take inputs of shape {tuple(inputs.shape[1:])}: {reason}") from error
        if not isinstance(outputs, Tensor):
            raise DataError(f"the model returns a {type(outputs).__name__}; it must return one tensor of scores")
        if outputs.shape != (2, sample.shape[1], classes):
            raise DataError(
                f"the model returns shape {tuple(outputs.shape[2:])} for one sample, but the data has {classes} "
                f"classes: it must return {classes} scores"
            )


def _source(kind: type) -> bytes:
    """The code of a class's own functions, where it can be had."""
    pieces = []
    for name, value in sorted(vars(kind).items()):
        if inspect.isfunction(value):
            try:
                pieces.append(inspect.getsource(value))
            except OSError:  # typed into an interpreter
                pieces.append(f"{name}: {value.__code__.co_code!r} {value.__code__.co_names!r}")
    return "\n".join(pieces).encode()
