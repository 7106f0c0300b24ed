"""What the samples of a linear regression look like: how to draw them, and their moments, known exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from surefed.core import ConfigError


@dataclass(frozen=True, slots=True)
class Features:
    """A law of non-negative samples x that are zero wherever a client observes nothing.

    draw: (generator, observes [client, weight], leading shape) -> x [..., client, weight].
    first: observes -> E[x]. [client, weight]
    second: observes -> E[x x^T]. [client, weight, weight]
    """

    name: str
    draw: Callable[[np.random.Generator, Tensor, tuple[int, ...]], Tensor]
    first: Callable[[Tensor], Tensor]
    second: Callable[[Tensor], Tensor]


def one_hot() -> Features:
    """Each sample shows one of the client's weights, any of them as often, at a size uniform on (1/2, 3/2).

    E[x x^T] is diagonal, so beliefs with a diagonal covariance lose nothing.
    """

    def draw(rng: np.random.Generator, observes: Tensor, shape: tuple[int, ...]) -> Tensor:
        clients = observes.shape[0]
        count = observes.sum(1)
        ticket = (torch.from_numpy(rng.random((*shape, clients))) * count).long()
        size = torch.from_numpy(rng.random((*shape, clients))) + 0.5
        shown = observes & (observes.cumsum(1) - 1 == ticket[..., None])
        return shown * size[..., None]

    def first(observes: Tensor) -> Tensor:
        return observes.double() / observes.sum(1, keepdim=True).clamp_min(1)

    def second(observes: Tensor) -> Tensor:
        return torch.diag_embed(first(observes) * (1 + 1 / 12))

    return Features("one-hot", draw, first, second)


def dense(shape: float = 0.5) -> Features:
    """Each sample shows all of the client's weights, independent Gamma(shape) numbers with E[x^2] = 1.

    Positive numbers are correlated through their mean: E[x x^T] = (1 - m^2) I + m^2 1 1^T with m^2 = shape / (1 +
    shape), whose smallest eigenvalue is 1 / (1 + shape).
    """
    if not shape > 0:
        raise ConfigError(f"the shape of a Gamma law must be positive, and {shape} is not")
    mean = math.sqrt(shape / (1 + shape))

    def draw(rng: np.random.Generator, observes: Tensor, leading: tuple[int, ...]) -> Tensor:
        scale = 1 / math.sqrt(shape * (1 + shape))
        return torch.from_numpy(rng.gamma(shape, scale, (*leading, *observes.shape))) * observes

    def first(observes: Tensor) -> Tensor:
        return mean * observes.double()

    def second(observes: Tensor) -> Tensor:
        seen = observes.double()
        return mean**2 * seen[:, :, None] * seen[:, None, :] + (1 - mean**2) * torch.diag_embed(seen)

    return Features(f"dense, Gamma({shape:g})", draw, first, second)


def together() -> Features:
    """Each sample shows the sum of the client's weights, at a size uniform on (1/2, 3/2), and nothing else."""

    def draw(rng: np.random.Generator, observes: Tensor, leading: tuple[int, ...]) -> Tensor:
        size = torch.from_numpy(rng.random((*leading, observes.shape[0]))) + 0.5
        return size[..., None] * observes

    def first(observes: Tensor) -> Tensor:
        return observes.double()

    def second(observes: Tensor) -> Tensor:
        seen = observes.double()
        return (1 + 1 / 12) * seen[:, :, None] * seen[:, None, :]

    return Features("together", draw, first, second)


def powers() -> Features:
    """Each sample shows u, u^2, u^3, ... of one u uniform on (0, 1): a polynomial without its constant term."""

    def exponents(observes: Tensor) -> Tensor:
        return torch.arange(1, observes.shape[1] + 1, dtype=torch.float64)

    def draw(rng: np.random.Generator, observes: Tensor, leading: tuple[int, ...]) -> Tensor:
        u = torch.from_numpy(rng.random((*leading, observes.shape[0])))
        return u[..., None] ** exponents(observes) * observes

    def first(observes: Tensor) -> Tensor:
        return observes / (exponents(observes) + 1)

    def second(observes: Tensor) -> Tensor:
        power = exponents(observes)
        seen = observes.double()
        return seen[:, :, None] * seen[:, None, :] / (power[:, None] + power + 1)

    return Features("powers", draw, first, second)
