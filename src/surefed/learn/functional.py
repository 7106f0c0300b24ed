"""Any module as a function of flat weights, run for many clients in one call."""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from surefed.core import DataError, Stream
from surefed.learn.layers import BATCH_NORMS, Pass
from surefed.learn.likelihood import Categorical, Likelihood
from surefed.learn.masks import Masks
from surefed.learn.stacked import stacked


class Network:
    """A module turned into a function of flat weights; one row of weights per client.

    The module is neither changed nor copied: its parameters give the layout and the initial weights. Trees of
    known layers (`stacked`) run as batched operations; every other module runs through `torch.func.vmap`.

    likelihood: what its outputs mean.
    certain: the weights that have no posterior, those of BatchNorm; None where every weight has one. bool [weight]
    buffer_sizes: how many running statistics each BatchNorm keeps; a row has its own, which nobody else sees.
    """

    def __init__(self, module: nn.Module, likelihood: Likelihood | None = None, count: int = 0) -> None:
        """A network of a module whose outputs mean what the likelihood says; count: classes or targets."""
        self.likelihood = Categorical() if likelihood is None else likelihood
        module = self.likelihood.complete(module, count)
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
        kept = _running(module)
        self.module = module
        self.names = tuple(parameters)
        self.shapes = tuple(tuple(value.shape) for value in parameters.values())
        self.sizes = tuple(math.prod(shape) for shape in self.shapes)
        self.weights = sum(self.sizes)
        self.certain = _certain(module)
        self.buffer_names = tuple(kept)
        self.buffer_sizes = tuple(value.numel() for value in kept.values())
        self._plan = stacked(module)
        self._kept: dict[tuple[int, ...], int] = {}
        self._initial = torch.cat([value.detach().float().reshape(-1) for value in parameters.values()])
        self._buffers = torch.cat([torch.zeros(0), *(value.detach().cpu().float() for value in kept.values())])

    @property
    def stacked(self) -> bool:
        """Whether it runs as batched operations, each row drawing from a stream of its own."""
        return self._plan is not None

    def initial(self) -> Tensor:
        """The weights the module held when it was given, flat. float32 [weight]"""
        return self._initial.clone()

    def initial_buffers(self) -> Tensor:
        """The running statistics the module held when it was given, flat. float32 [number]"""
        return self._buffers.clone()

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
        digest.update(self._buffers.numpy().tobytes())
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

    def apply(
        self, parameters: list[Tensor], inputs: Tensor, *, masks: Masks | None = None, buffers: Tensor | None = None
    ) -> Tensor:
        """Outputs of every row's network on its own inputs, in training where `masks` are given, else in prediction.

        Layers such as dropout are active in training only. Known layers draw from every row's own stream; a module
        that runs through vmap draws from torch's generator, seeded by the first row's, so that its numbers repeat as
        long as the same rows are stacked.

        Args:
            parameters: [row, *shape] each, as `split` gives them.
            inputs: [row, sample, ...].
            masks: the random numbers of a training step.
            buffers: [row, number], the running statistics; training moves them on, in place.

        Returns:
            [row, sample, ...].
        """
        if buffers is None:
            if self.buffer_sizes:
                raise ValueError("this network keeps running statistics: give it those of the rows as `buffers`")
            kept: tuple[Tensor, ...] = ()
        else:
            kept = buffers.split(self.buffer_sizes, dim=-1)
        if self._plan is not None:
            return self._plan(inputs, Pass(parameters, kept, masks))
        return self._by_vmap(parameters, kept, inputs, masks)

    def _by_vmap(
        self, parameters: list[Tensor], kept: tuple[Tensor, ...], inputs: Tensor, masks: Masks | None
    ) -> Tensor:
        counters = {name: value.clone() for name, value in self.module.named_buffers() if name not in self.buffer_names}

        def one(row: dict[str, Tensor], sample: Tensor) -> Tensor:
            return functional_call(self.module, row | counters, (sample,))  # type: ignore[no-any-return]

        moving = [value.clone() for value in kept]  # contiguous, without which vmap writes into copies of its own
        named = dict(zip((*self.names, *self.buffer_names), (*parameters, *moving), strict=True))
        with _mode(self.module, training=masks is not None):
            if masks is None:
                return vmap(one)(named, inputs)
            with masks.seeding_torch(inputs.device):
                outputs = vmap(one, randomness="different")(named, inputs)
        for value, moved in zip(kept, moving, strict=True):
            value.copy_(moved)
        return outputs

    def kept(self, inputs: Tensor) -> int:
        """How many numbers a training step keeps for each sample until the gradient is known; inputs: [sample, ...]."""
        shape = tuple(inputs.shape[1:])
        if shape not in self._kept:
            sizes: dict[int, int] = {}

            def note(value: Tensor) -> Tensor:
                storage = value.untyped_storage()
                sizes[storage.data_ptr()] = storage.nbytes() // 4
                return value

            flat = self.initial().to(inputs.device)[None].requires_grad_()
            sample = inputs[None, :1].clone()  # its own storage, not that of all samples
            with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda value: value):
                outputs = self.apply(self.split(flat), sample, buffers=self._still(1, inputs.device))
            sizes.pop(flat.untyped_storage().data_ptr(), None)
            self._kept[shape] = sum(sizes.values()) + outputs.numel()
        return self._kept[shape]

    def check(self, inputs: Tensor, count: int) -> None:
        """Run two samples through two rows, to refuse an unfit module before any work is done.

        count: how many classes or targets the data has.
        """
        sample = inputs[:2].expand(2, *inputs[:2].shape)
        try:
            with torch.no_grad():
                flat = self.initial().to(inputs.device).repeat(2, 1)
                for masks in (None, Masks(Stream(0, "check", range(2), inputs.device), 0, 0)):
                    still = self._still(2, inputs.device)
                    outputs: object = self.apply(self.split(flat), sample, masks=masks, buffers=still)
        except Exception as error:  # somebody's own code may fail in any way
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise DataError(f"the model cannot take inputs of shape {tuple(inputs.shape[1:])}: {reason}") from error
        if not isinstance(outputs, Tensor):
            raise DataError(f"the model returns a {type(outputs).__name__}; it must return one tensor of scores")
        if outputs.shape != (2, sample.shape[1], self.likelihood.outputs(count)):
            unit, answer = self.likelihood.unit, self.likelihood.answer
            own = list(outputs.shape[2:])
            own[-1:] = [size + count - self.likelihood.outputs(count) for size in own[-1:]]
            raise DataError(
                f"the model returns shape {tuple(own)} for one sample, but the data has {count} {unit}: it must return "
                f"{count} {answer}"
            )

    def _still(self, rows: int, device: torch.device) -> Tensor:
        return self.initial_buffers().to(device).repeat(rows, 1)


def _running(module: nn.Module) -> dict[str, Tensor]:
    """The running statistics of BatchNorm, by name; any other buffer is refused."""
    kept, others = {}, []
    for name, value in module.named_buffers():
        path, _, last = name.rpartition(".")
        layer = module.get_submodule(path)
        if type(layer) not in BATCH_NORMS or layer.momentum is None:
            others.append(name)
        elif last != "num_batches_tracked":  # it counts for nothing where there is a momentum
            kept[name] = value
    if others:
        raise DataError(
            f"the model keeps buffers ({', '.join(others[:3])}{', ...' if len(others) > 3 else ''}), which a belief "
            "over weights does not cover; only BatchNorm's running statistics, with a momentum, can be kept by a client"
        )
    return kept


def _certain(module: nn.Module) -> Tensor | None:
    """Which weights have no posterior: those of BatchNorm. bool [weight], or None where every weight has one"""
    plain = {
        id(value)
        for layer in module.modules()
        if type(layer) in BATCH_NORMS
        for value in layer.parameters(recurse=False)
    }
    marks = [torch.full((value.numel(),), id(value) in plain, device=value.device) for value in module.parameters()]
    return torch.cat(marks) if plain else None


@contextmanager
def _mode(module: nn.Module, *, training: bool) -> Iterator[None]:
    """Put every layer into training or prediction, and back into what it was.

    Meanwhile attention keeps to plain operations: vmap does not know the fused ones.
    """
    before = [(layer, layer.training) for layer in module.modules()]
    fused = torch.backends.mha.get_fastpath_enabled()
    for layer, _ in before:
        layer.training = training
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fused)
        for layer, was in before:
            layer.training = was


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
