"""The algebra of diagonal Gaussians: draw from them, measure their distance, pool them."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from surefed.core import cuda, native
from surefed.core.belief import STD_MAX, STD_MIN, Belief, rho_of


def sample(belief: Belief, eps: Tensor) -> Tensor:
    """Weights drawn from the belief: mean + std * eps, eps being standard normal of the same shape."""
    return torch.addcmul(belief.mean, belief.std, eps)


def kl(belief: Belief, prior: Belief) -> Tensor:
    """KL[belief || prior], summed over weights, in nats. float64 [...]

    Per weight: log(s_p / s_q) + (s_q^2 + (m_q - m_p)^2) / (2 s_p^2) - 1/2.
    """
    q, p = safe_std(belief), safe_std(prior)
    shift = belief.mean.double() - prior.mean.double()
    # log1p of the ratio's excess keeps all digits when the two are close, the usual case for a streaming prior.
    ratio = q / p
    per_weight = 0.5 * ((ratio - 1) * (ratio + 1) + (shift / p).square()) - torch.log1p((q - p) / p)
    return per_weight.sum(-1).clamp_min(0.0)


def safe_std(belief: Belief) -> Tensor:
    """The std in float64, within the range in which a precision is a number."""
    return belief.std.double().clamp(STD_MIN, STD_MAX)


def tiles(weights: int, rows: int, device: torch.device) -> Iterator[slice]:
    """Cut the weight axis so that a [rows, tile] buffer stays in a CPU's cache; a GPU takes big bites."""
    budget = 1 << (18 if device.type == "cpu" else 26)
    size = max(64, budget // max(rows, 1))
    return (slice(start, min(start + size, weights)) for start in range(0, weights, size))


def pool(sent: Belief, trust: Tensor, otherwise: Belief) -> Belief:
    """Average the trusted precisions; weigh the trusted means by them (the paper's aggregation step).

    1 / S_i = sum_j T_ij / S_j and m_i = S_i * sum_j T_ij m_j / S_j, S being variances and T the rows of
    `trust` divided by their sums. A receiver that trusts nobody keeps its row of `otherwise`.

    Args:
        sent: [sender, weight], finite wherever it is trusted.
        trust: [receiver, sender], bool or non-negative weights.
        otherwise: [receiver, weight].
    """
    by_kernel = _by_kernel(sent, trust, otherwise) if trust.dtype == torch.bool else None
    if by_kernel is not None:
        return by_kernel
    weight = trust.double()
    total = weight.sum(1, keepdim=True)
    nobody = total == 0
    weight = weight / total.masked_fill(nobody, 1.0)
    heard = trust.any(0)
    mean, rho = torch.empty_like(otherwise.mean), torch.empty_like(otherwise.rho)
    for part in tiles(sent.weights, len(sent), sent.mean.device):
        precision = safe_std(sent[:, part]).square_().reciprocal_()
        precision.masked_fill_(~heard[:, None], 0.0)
        scaled = precision * torch.where(heard[:, None], sent.mean[:, part].double(), 0.0)
        pooled = (weight @ precision).masked_fill_(nobody, 1.0)
        mean[:, part] = ((weight @ scaled) / pooled).to(mean.dtype)
        rho[:, part] = rho_of(pooled.rsqrt()).to(rho.dtype)
    return Belief(torch.where(nobody, otherwise.mean, mean), torch.where(nobody, otherwise.rho, rho))


def pool_within(
    sent: Belief,
    trust: Tensor,
    otherwise: Belief,
    yardstick: Belief,
    *,
    floor: float = 0.0,
    ceiling: float | None = None,
) -> Belief:
    """Pool, each receiver reading every std as at least `floor` and at most `ceiling` times its yardstick's.

    A sender's weight in the mean is then at most floor^-2 times that of the yardstick's precision, whatever std it
    claims, and the pooled std is at least floor times the yardstick's. The yardstick must be out of the senders' reach:
    measured against a belief that was itself pooled, the std would shrink from round to round.

    Args:
        sent: [sender, weight], finite wherever it is trusted.
        trust: bool [receiver, sender].
        otherwise: [receiver, weight], kept by a receiver that trusts nobody.
        yardstick: [receiver, weight].
    """
    by_kernel = _by_kernel(sent, trust, otherwise, (yardstick.rho, floor, torch.inf if ceiling is None else ceiling))
    if by_kernel is not None:
        return by_kernel
    count = trust.sum(1, keepdim=True)
    nobody = count == 0
    mean, rho = torch.empty_like(otherwise.mean), torch.empty_like(otherwise.rho)
    heard = torch.where(trust.any(0)[:, None], sent.mean, 0.0)
    for part in tiles(sent.weights, len(sent) * len(otherwise) // 8, sent.mean.device):
        own = safe_std(yardstick[:, part])
        ratio = safe_std(sent[:, part]).float()[None] * own.reciprocal().float()[:, None]  # [receiver, sender, tile]
        precision = ratio.clamp_(floor, ceiling).square_().reciprocal_().mul_(trust[:, :, None])  # own is 1
        total = precision.sum(1).masked_fill_(nobody, 1.0)
        mean[:, part] = precision.div_(total[:, None]).mul_(heard[None, :, part]).sum(1).to(mean.dtype)
        std = own * (count.clamp_min(1) / total.double()).sqrt()
        rho[:, part] = rho_of(std.clamp(STD_MIN, STD_MAX)).to(rho.dtype)
    return Belief(torch.where(nobody, otherwise.mean, mean), torch.where(nobody, otherwise.rho, rho))


def _by_kernel(
    sent: Belief, trust: Tensor, otherwise: Belief, within: tuple[Tensor, float, float] | None = None
) -> Belief | None:
    """The pool as a kernel makes it, in C or on a GPU; None where torch must. within: see `native.pool`."""
    own = otherwise.mean, otherwise.rho
    arrays = (sent.mean, sent.rho, *own) if within is None else (sent.mean, sent.rho, *own, within[0])
    if native.fits(*arrays):
        pooled = native.pool(sent.mean, sent.rho, trust, own, low=STD_MIN, high=STD_MAX, within=within)
    elif cuda.fits(*arrays):
        from surefed.core.cuda.pooling import pool as pool_there  # here, because it needs Triton

        pooled = pool_there(sent.mean, sent.rho, trust, own, low=STD_MIN, high=STD_MAX, within=within)
    else:
        return None
    return Belief(*pooled)
