"""Malicious clients agree on the lie on ALIE's line that does the most damage to the rule they reckon with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from surefed.attacks.alie import crowd, spread
from surefed.attacks.base import Attack, Scene
from surefed.core import Belief, Stream, band
from surefed.core.gaussian import tiles
from surefed.core.robust import Products, best, krum_scores, products

Against = Literal["band", "mean", "trimmed_mean", "median", "krum"]
"""The rule the liars reckon with: SureFED's acceptance, or a rule that is told how many lie."""

Damage = Callable[[float], float]
"""How far the result is from the crowd's mean when the liars send mean - z * std."""


def climb(damage: Damage, evaluations: int, step: float = 10.0, contraction: float = 0.8) -> float:
    """A z from 0 upwards with large damage: steps that double while it grows, then steps that shrink."""
    z, most, growing = 0.0, damage(0.0), True
    for _ in range(evaluations - 1):
        found = damage(z + step)
        better = found > most
        if better:
            z, most = z + step, found
        growing = growing and better
        step *= 2 if growing else contraction
    return z


def copies(scene: Scene, seen: int) -> int:
    """How many lies go with a crowd of so many: all of them, or as many as keep their share, at least one."""
    honest = scene.clients - scene.liars
    return max(1, min(scene.liars, round(seen * scene.liars / max(honest, 1))))


def to_mean(offset: Tensor, std: Tensor, lies: int, drop: int) -> Damage:
    """The damage to the mean of every weight without the `drop` largest and the `drop` smallest values.

    The crowd is sorted once. Equal lies v among the sorted values x make clamp(v, x[p - lies], x[p]) the value in
    place p, x being infinite beyond its ends. offset: the crowd without its mean. [seen, weight]
    """
    ordered = offset.sort(0).values
    beyond = torch.full_like(std, torch.inf).expand(lies, -1)
    kept = slice(drop, len(offset) + lies - drop)
    least, most = torch.cat((-beyond, ordered))[kept], torch.cat((ordered, beyond))[kept]  # [place, weight]

    def damage(z: float) -> float:
        square = 0.0
        for part in tiles(len(std), len(least), std.device):
            lie = -z * std[part]
            square += lie.clamp(least[:, part], most[:, part]).mean(0, dtype=torch.float64).square().sum().item()
        return math.sqrt(square)

    return damage


def to_krum(offset: Tensor, std: Tensor, lies: int) -> Damage:
    """The damage of a lie that Krum chooses; none where it chooses an honest client, whose distance is its own fault.

    All distances follow from inner products taken once. offset: the crowd without its mean. [seen, weight]
    """
    inner = products(offset[:0], torch.cat((offset, -std[None]))).sent  # [seen + 1, seen + 1]
    who = torch.arange(len(offset) + lies, device=offset.device).clamp_max(len(offset))
    lying, inner = who == len(offset), inner[who][:, who]
    heard = torch.ones_like(lying)[None]
    nothing = torch.zeros_like(heard, dtype=torch.float64)

    def damage(z: float) -> float:
        scale = torch.ones_like(nothing).masked_fill(lying, z)
        known = Products(nothing[:, 0], nothing, inner * scale * scale.T)
        chosen = best(krum_scores(known, heard, lies), known, heard, 1)[0]
        return known.sent.diagonal()[chosen & lying].sum().sqrt().item()

    return damage


def between(local: Belief, kappa: float, middle: Tensor, std: Tensor) -> tuple[Tensor, Tensor]:
    """The smallest and the largest z whose lie is inside a receiver's band on every weight. float64 [receiver]

    |local - (middle - z * std)| <= width bounds z from both sides by (middle - local -+ width) / std. They
    are not in order, or NaN, where no z is accepted. The band is taken narrower by what rounding the lie may add.
    """
    low = torch.full((len(local),), -torch.inf, dtype=torch.float64, device=middle.device)
    high = -low
    for part in tiles(local.weights, len(local), middle.device):
        mean, width = local.mean[:, part].double(), band(local[:, part], kappa).double()
        width -= torch.finfo(middle.dtype).eps * (mean.abs() + width)
        gap, unit = middle[part].double() - mean, std[part].double()
        low = low.maximum(((gap - width) / unit).amax(1))
        high = high.minimum(((gap + width) / unit).amin(1))
    return low, high


def edge(scene: Scene, kappa: float, middle: Tensor, std: Tensor) -> float:
    """The z of the most damage to receivers with bands; 0 if nobody accepts a lie on the line.

    A receiver's share of lies times |z| is how far its mean moves, in units of the std's length, as long as it accepts
    the lie. So the best z is the end of somebody's interval, and trying all ends is exact.
    """
    local = scene.own if scene.own_local is None else scene.own_local
    share = torch.ones(len(local), dtype=torch.float64, device=middle.device)
    if scene.honest_local is not None and len(scene.honest_local) > 0:
        local, heard = scene.honest_local, scene.edges[~scene.malicious].double()
        share = heard[:, scene.malicious].sum(1) / heard.sum(1).clamp_min(1.0)
    low, high = between(local, kappa, middle, std)
    ends = torch.cat((high, low, torch.zeros_like(low[:1])))
    ends = ends[ends.isfinite()]
    accepted = (low <= ends[:, None]) & (ends[:, None] <= high)  # [end, receiver]
    damage = ends.abs() * (accepted.double() @ share)
    return ends[damage.argmax()].item() if bool(damage.any()) else 0.0


def opt_alie(*, against: Against = "band", kappa: float = 16.0, evaluations: int = 20) -> Attack:
    """Send mean - z * std of the crowd, z doing the most damage to a rule (after Allouah et al. 2023).

    All malicious clients send the same. The damage is the distance between what the rule makes of the crowd with the
    lies and the crowd's mean; a lie that Krum does not choose counts as none. Except for the band, z is searched from
    0 upwards, first by 10, then by twice that and so on while the damage grows, then by steps each 0.8 of the last (as
    byzfl does). Liars who know only their own data take their messages for the crowd, and lies in proportion. The rho
    stays honest.

    Against the band, z is exact, not searched, and may be negative. A receiver accepts a lie when every weight is
    within kappa stds of its local belief. It then moves by its share of lies times the lie's distance from the mean,
    else by nothing; the damage is the average over the honest receivers, for whom the liars take themselves if they
    know no other local beliefs.

    Args:
        against: the rule the liars reckon with.
        kappa: the width of the band in stds.
        evaluations: how many z the search tries.
    """
    if not 0 <= kappa < math.inf:
        raise ValueError(f"kappa must be a finite number, 0 or more, not {kappa}")
    if not 1 <= evaluations <= 100:
        raise ValueError(f"evaluations must be from 1 to 100, since z doubles with each, not {evaluations}")

    def factor(scene: Scene, means: Tensor, middle: Tensor, std: Tensor) -> float:
        if against == "band":
            return edge(scene, kappa, middle, std)
        lies = copies(scene, len(means))
        offset, middling = means - middle, (len(means) + lies - 1) // 2
        if against == "krum":
            return climb(to_krum(offset, std, lies), evaluations)
        drop = {"mean": 0, "trimmed_mean": min(lies, middling), "median": middling}[against]
        return climb(to_mean(offset, std, lies, drop), evaluations)

    def tamper(scene: Scene, rng: Stream) -> Belief:
        means, _ = crowd(scene)
        middle, std = means.mean(0), spread(means)
        lie = (middle.double() - factor(scene, means, middle, std) * std.double()).to(middle.dtype)
        return Belief(lie.expand_as(scene.own.mean), scene.own.rho)

    return Attack(tamper=tamper, local=against == "band")
