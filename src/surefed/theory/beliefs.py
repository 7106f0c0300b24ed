"""Gaussian beliefs about a linear regression, with a full or a diagonal covariance: Kalman updates and pooling."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefed.core import Belief, rho_of


@dataclass(frozen=True, slots=True)
class Full:
    """Gaussians over the weights; leading axes stack repetitions and clients.

    The precision is carried beside the covariance because learning adds to it and pooling averages it.

    mean: [..., weight]. covariance, precision: [..., weight, weight], inverses of each other.
    """

    mean: Tensor
    covariance: Tensor
    precision: Tensor

    @property
    def std(self) -> Tensor:
        """The marginal standard deviation of each weight. [..., weight]"""
        return self.covariance.diagonal(dim1=-2, dim2=-1).sqrt()

    @classmethod
    def prior(cls, covariance: Tensor, shape: tuple[int, ...]) -> Full:
        """The same belief about zero for everybody."""
        weights = covariance.shape[-1]
        precision = torch.linalg.inv(covariance)
        return cls(
            covariance.new_zeros(*shape, weights),
            covariance.expand(*shape, weights, weights),
            precision.expand(*shape, weights, weights),
        )


def kalman(belief: Full, x: Tensor, y: Tensor, noise: Tensor) -> Full:
    """Learn one sample: the paper's Kalman update, with Sigma_{t-1} in both denominators.

    mean += S x (y - <x, mean>) / (x^T S x + noise) and S -= S x x^T S / (x^T S x + noise). The paper prints Sigma_t in
    the first denominator, where it is not known yet; with Sigma_{t-1} the update is exactly Bayes' rule.

    Args:
        x: [..., weight]. y, noise: [...].
    """
    reach = (belief.covariance @ x[..., None]).squeeze(-1)
    total = (x * reach).sum(-1) + noise
    gain = reach / total[..., None]
    surprise = y - (x * belief.mean).sum(-1)
    return Full(
        torch.addcmul(belief.mean, gain, surprise[..., None]),
        belief.covariance - reach[..., :, None] * reach[..., None, :] / total[..., None, None],
        torch.addcdiv(belief.precision, x[..., :, None] * x[..., None, :], noise[..., None, None]),
    )


def regression(prior: Tensor, x: Tensor, y: Tensor, noise: float) -> Full:
    """Bayesian linear regression on all samples at once, about a prior mean of 0; what Kalman updates must equal.

    Args:
        prior: [weight, weight], a covariance. x: [sample, weight]. y: [sample].
    """
    precision = torch.linalg.inv(prior) + x.mT @ x / noise
    covariance = torch.linalg.inv(precision)
    return Full(covariance @ (x.mT @ y) / noise, covariance, precision)


def pool_full(sent: Full, trust: Tensor) -> Full:
    """Average the trusted precisions; weigh the trusted means by them (the paper's aggregation, in matrices).

    It is the log-opinion pool: the product of the trusted densities, each to the power of its weight. A receiver that
    trusts nobody keeps its own belief.

    Args:
        trust: bool [..., receiver, sender].
    """
    nobody = ~trust.any(-1, keepdim=True)
    weight = (trust | (nobody & torch.eye(trust.shape[-1], dtype=torch.bool))).double()
    weight = weight / weight.sum(-1, keepdim=True)
    precision = (weight @ sent.precision.flatten(-2)).unflatten(-1, sent.precision.shape[-2:])
    information = weight @ (sent.precision @ sent.mean[..., None]).squeeze(-1)
    covariance = torch.linalg.inv(precision)
    covariance = (covariance + covariance.mT) / 2
    return Full((covariance @ information[..., None]).squeeze(-1), covariance, precision)


def inspect_full(local: Full, social: Full, edges: Tensor, kappa: float, tolerated: int = 0) -> Tensor:
    """Senders whose means lie within kappa local stds on all but so many weights. bool [..., receiver, sender]"""
    gap = (local.mean[..., :, None, :] - social.mean[..., None, :, :]).abs()
    return edges & ((gap > kappa * local.std[..., :, None, :]).sum(-1) <= tolerated)


def introspect_full(social: Full, local: Full, kappa: float) -> Full:
    """Where the social mean leaves the client's own band, put the local one back."""
    outside = (local.mean - social.mean).abs() > kappa * local.std
    return Full(torch.where(outside, local.mean, social.mean), social.covariance, social.precision)


def kalman_diagonal(belief: Belief, x: Tensor, y: Tensor, noise: Tensor) -> Belief:
    """Learn one sample and keep only a variance per weight: the minimiser of the free energy over diagonal Gaussians.

    The mean is the Kalman one; the precision of weight k grows by x_k^2 / noise, what KL[q || posterior] asks for
    (Bishop 2006, section 10.1.2). With one-hot samples nothing is lost.

    Args:
        x: [..., weight]. y, noise: [...].
    """
    variance = belief.std.square()
    reach = variance * x
    total = (x * reach).sum(-1) + noise
    surprise = y - (x * belief.mean).sum(-1)
    precision = variance.reciprocal() + x.square() / noise[..., None]
    return Belief(belief.mean + reach * (surprise / total)[..., None], rho_of(precision.rsqrt()))
