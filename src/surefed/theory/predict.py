"""What the theorems predict, computed from matrices alone: errors, biases, rates and times of fragmentation.

In terms of precisions Z and information h = Z mean, learning adds x x^T / noise and x y / noise, and pooling averages
both with the trust weights T. So both are sums of samples, weighed by products of T; everything here follows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefed.theory.world import Schedule, World


@dataclass(frozen=True, slots=True)
class Moments:
    """What a sample of each client adds on average.

    precision: E[x x^T] / noise. [client, weight, weight]
    push: what a biased label adds to the information, E[x] shift / noise. [client, weight]
    """

    precision: Tensor
    push: Tensor


def moments(world: World) -> Moments:
    """The average information in a sample of each client."""
    second, first = world.features.second(world.observes), world.features.first(world.observes)
    return Moments(second / world.noise[:, None, None], first * (world.shift / world.noise)[:, None])


def trust_weights(edges: Tensor) -> Tensor:
    """The rows of a graph divided by their sums, T of the paper. [receiver, sender]"""
    weight = edges.double()
    return weight / weight.sum(1, keepdim=True)


def path_weights(schedule: Schedule, rounds: int) -> tuple[Tensor, Tensor]:
    """The weight of all samples of j in the belief of i after so many rounds, and the sum of its squares.

    sum_s (T_t ... T_s)_ij and sum_s (T_t ... T_s)_ij^2. [receiver, sender] both
    """
    product = torch.eye(len(schedule(0)), dtype=torch.float64)
    total, squares = torch.zeros_like(product), torch.zeros_like(product)
    for round in range(rounds - 1, -1, -1):
        product = product @ trust_weights(schedule(round))
        total += product
        squares += product.square()
    return total, squares


def influence(schedule: Schedule, period: int = 1) -> Tensor:
    """The share of a sample of j in what i knows, in the long run. [receiver, sender], rows sum to 1

    The limit of the products of trust weights, averaged over the phases of a periodic graph. For a strongly connected
    graph all rows are the same, the left Perron vector.
    """
    product = torch.eye(len(schedule(0)), dtype=torch.float64)
    phases = torch.zeros_like(product)
    for phase in range(period - 1, -1, -1):
        product = product @ trust_weights(schedule(phase))
        phases += product / period
    for _ in range(64):  # squares of squares: 2^64 periods
        product = product @ product
        product = product / product.sum(1, keepdim=True)
    return product @ phases


def bias_limit(world: World, weights: Tensor) -> Tensor:
    """Where undefended beliefs end, less the truth: c b of the paper. [client, weight]

    c b = (sum_j w_j E[x x^T]_j / noise_j)^-1 sum_j w_j E[x]_j shift_j / noise_j, w being the influence. The same for
    full and for diagonal covariances. Where nobody heard observes a weight, there is nothing to move it: 0.
    """
    known = moments(world)
    precision = torch.einsum("ij,jkl->ikl", weights, known.precision)
    inverse: Tensor = torch.linalg.pinv(precision, hermitian=True)
    return torch.einsum("ikl,il->ik", inverse, weights @ known.push)


def expected_bias(world: World, schedule: Schedule, rounds: int) -> Tensor:
    """How far BayP2PFL's beliefs are from the truth on average after so many rounds, lies and prior together.

    Precisions are replaced by their expectation, which is exact up to a relative error of order 1 / rounds.
    [client, weight]
    """
    return error_parts(world, schedule, rounds)[0]


def expected_error(world: World, schedule: Schedule, rounds: int) -> Tensor:
    """The mean square error of BayP2PFL after so many rounds, with full covariances: variance plus bias^2. [client]"""
    bias, variance = error_parts(world, schedule, rounds)
    return variance.sum(-1) + bias.square().sum(-1)


def error_parts(world: World, schedule: Schedule, rounds: int) -> tuple[Tensor, Tensor]:
    """The bias and the variance of BayP2PFL's means after so many rounds. [client, weight] both"""
    total, squares = path_weights(schedule, rounds)
    known, prior = moments(world), torch.linalg.inv(world.prior)
    covariance = torch.linalg.inv(torch.einsum("ij,jkl->ikl", total, known.precision) + prior)
    spread = torch.einsum("ij,jkl->ikl", squares, known.precision)
    variance = (covariance @ spread @ covariance).diagonal(dim1=-2, dim2=-1)
    push = total @ known.push - prior @ world.theta
    return (covariance @ push[..., None]).squeeze(-1), variance


def error_constant(world: World, weights: Tensor) -> Tensor:
    """lim t * (mean square error) for full covariances, without lies. [client]"""
    known = moments(world)
    covariance: Tensor = torch.linalg.inv(torch.einsum("ij,jkl->ikl", weights, known.precision))
    spread = torch.einsum("ij,jkl->ikl", weights.square(), known.precision)
    return torch.einsum("ikl,ilm,imk->i", covariance, spread, covariance)


@dataclass(frozen=True, slots=True)
class DiagonalRate:
    """How fast beliefs with a diagonal covariance learn.

    slowest: the smallest eigenvalue of D^-1/2 M D^-1/2, M being the average E[x x^T] / noise and D its diagonal.
    slope: of log(mean square error) over log(time): -1 where slowest > 1/2, -2 slowest below.
    constant: lim t * error where slowest > 1/2, else infinite.
    doubt: how many times larger the true variance of the slowest direction is than what is believed; infinite below.
    """

    slowest: float
    slope: float
    constant: float
    doubt: float


def diagonal_rate(world: World, weights: Tensor) -> DiagonalRate:
    """How fast means learn when correlations are thrown away after every round; weights: one row of `influence`.

    The mean then follows a stochastic approximation with gain D^-1 / t, whose error falls as 1/t only if all
    eigenvalues of D^-1 M exceed 1/2 (Polyak and Juditsky 1992 on gains of order 1/t), and else as t^(-2 slowest).
    """
    known = moments(world)
    average = torch.einsum("j,jkl->kl", weights, known.precision)
    spread = torch.einsum("j,jkl->kl", weights.square(), known.precision)
    scale = average.diagonal().rsqrt()
    values, vectors = torch.linalg.eigh(scale[:, None] * average * scale)
    slowest = float(values[0])
    if slowest <= 0.5:
        return DiagonalRate(slowest, -2 * slowest, torch.inf, torch.inf)
    noise = vectors.mT @ (scale[:, None] * spread * scale) @ vectors
    settled = vectors @ (noise / (values[:, None] + values - 1)) @ vectors.mT
    return DiagonalRate(slowest, -1.0, float((settled.diagonal() * scale.square()).sum()), slowest / (2 * slowest - 1))


def local_spread(world: World) -> Tensor:
    """lim t * (local variance) of each weight observed, infinite elsewhere; l of the paper. [client, weight]"""
    unseen = torch.diag_embed((~world.observes).double())
    variance = torch.linalg.inv(moments(world).precision + unseen).diagonal(dim1=-2, dim2=-1)
    return torch.where(world.observes, variance, torch.inf)


def fragmentation_bound(world: World, weights: Tensor, kappa: float, *, noise_free: bool = False) -> Tensor:
    """Rounds after which the proof says that receiver i no longer trusts sender j. [receiver, sender]

    min over the shared weights k of l_k ((2 a_k + 2 + kappa) / (c_k b))^2: l_k / t is the local variance of i, a_k the
    ratio of j's social std to it, c b the bias of the undefended federation. `noise_free` leaves out 2 a + 2, the
    margin for chance: the round in which the bias alone equals the band. Infinite where nothing is shared.
    """
    spread = local_spread(world)
    social = torch.linalg.inv(torch.einsum("ij,jkl->ikl", weights, moments(world).precision))
    ratio = social.diagonal(dim1=-2, dim2=-1)[None] / spread[:, None]  # [receiver, sender, weight]
    margin = kappa + (0.0 if noise_free else 2 * ratio.sqrt() + 2)
    rounds = spread[:, None] * (margin / bias_limit(world, weights)[None].abs()) ** 2
    shared = world.observes[:, None] & world.observes[None]
    return torch.where(shared, rounds, torch.inf).amin(-1)


def heals(world: World, edges: Tensor) -> bool:
    """Whether honest clients are sure to find together again after the liars are cut off.

    A client repairs only the weights that it observes; on the others the poison stays, and the test "for
    all k" lets nobody hear a client that is off on any weight the receiver knows. So j hears i at once only if i is
    clean on all that j observes, and then j becomes clean wherever i is. The question is whether this ends with
    everybody clean everywhere. It is sufficient, not necessary: chance may heal a federation for which it is False.

    Args:
        edges: bool [receiver, sender].
    """
    among = edges & world.honest[:, None] & world.honest[None]
    clean = world.observes.clone()
    for _ in range(world.clients * world.weights):
        heard = among & ~(world.observes[:, None] & ~clean[None]).any(-1)
        clean = clean | (heard[:, :, None] & clean[None]).any(1)
    return bool(clean[world.honest].all())
