"""Federations that learn a linear regression, many repetitions at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from surefed.core import Belief, ConfigError, generator, rho_of
from surefed.rules import RULES, Receivers
from surefed.theory.beliefs import Full, inspect_full, introspect_full, kalman, kalman_diagonal, pool_full
from surefed.theory.settings import Settings
from surefed.theory.world import Schedule, World

RuleName = Literal["surefed", "bayp2pfl", "local_only"]
Covariance = Literal["full", "diagonal"]


class HasMean(Protocol):
    """What every kind of belief has."""

    @property
    def mean(self) -> Tensor:
        """[repetition, client, weight]"""


B = TypeVar("B", bound=HasMean)


@dataclass(frozen=True, slots=True)
class Band:
    """The options of SureFED that theory varies; see `surefed.rules.surefed`."""

    kappa: float
    agreement: float
    introspection: bool


@dataclass(frozen=True, slots=True)
class Method(Generic[B]):
    """How beliefs begin, learn and are pooled; all are stacked as [repetition, client, weight].

    start: repetitions -> belief.
    learn: (belief, x, y) -> belief.
    judge: (social, local, edges) -> the new social belief and who trusts whom, bool [repetition, receiver, sender].
    needs_local: whether `judge` reads the local belief; if not, none is learned.
    """

    start: Callable[[int], B]
    learn: Callable[[B, Tensor, Tensor], B]
    judge: Callable[[B, B, Tensor], tuple[B, Tensor]]
    needs_local: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """What a simulation leaves behind; rounds are counted from 1.

    times: the rounds that were looked at. [time]
    mean: social means after them. [time, repetition, client, weight]
    trusted: who trusted whom in them. bool [time, repetition, receiver, sender]
    first_out: the first round in which a receiver heard a sender and did not trust it, 0 for never.
        [repetition, receiver, sender]
    last_in: the last round in which it did trust it, 0 for never. [repetition, receiver, sender]
    """

    world: World
    times: Tensor
    mean: Tensor
    trusted: Tensor
    first_out: Tensor
    last_in: Tensor

    def error(self, clients: Tensor | None = None) -> Tensor:
        """Squared distance from the truth, the mean over some clients (the honest unless told). [time, repetition]"""
        off = (self.mean - self.world.theta).square().sum(-1)
        return off[:, :, self.world.honest if clients is None else clients].mean(-1)

    def off(self, client: int, weight: int) -> Tensor:
        """The squared error of one client on one weight. [time, repetition]"""
        return (self.mean[:, :, client, weight] - self.world.theta[weight]).square()


def simulate(
    world: World,
    schedule: Schedule,
    settings: Settings,
    *,
    rule: RuleName = "surefed",
    kappa: float = 4.0,
    agreement: float = 1.0,
    introspection: bool = True,
    covariance: Covariance = "full",
    samples: int = 1,
    times: Tensor | None = None,
) -> Trace:
    """Everybody learns `samples` samples a round, publishes, judges and pools, malicious clients too.

    The diagonal case goes through `surefed.rules`, block by block of repetitions; the full one is in `beliefs`.
    Equal worlds and settings give equal samples under every rule and kind of covariance.
    """
    if samples < 1:
        raise ConfigError(f"clients must learn at least 1 sample a round, not {samples}")
    stream = draws(world, settings, samples)
    when = logarithmic(settings.rounds) if times is None else times
    band = Band(kappa, agreement, introspection)
    if covariance == "full":
        return _play(full(world, rule, band), world, schedule, stream, when, settings.repetitions)
    return _play(diagonal(world, rule, band), world, schedule, stream, when, settings.repetitions)


def _play(
    method: Method[B],
    world: World,
    schedule: Schedule,
    stream: Iterator[list[tuple[Tensor, Tensor]]],
    times: Tensor,
    repetitions: int,
) -> Trace:
    """One round after the other: learn, judge, look."""
    social = local = method.start(repetitions)
    means, trusts = [], []
    first = torch.zeros(repetitions, world.clients, world.clients, dtype=torch.int64)
    last = first.clone()
    wanted = set(times.tolist())
    for round, batch in enumerate(stream):
        for x, y in batch:
            social = method.learn(social, x, y)
            local = method.learn(local, x, y) if method.needs_local else social
        edges = schedule(round)
        social, trusted = method.judge(social, local, edges)
        last.masked_fill_(trusted, round + 1)
        first.masked_fill_(edges & ~trusted & (first == 0), round + 1)
        if round + 1 in wanted:
            means.append(social.mean)
            trusts.append(trusted)
    return Trace(world, times, torch.stack(means), torch.stack(trusts), first, last)


def logarithmic(rounds: int, count: int = 40) -> Tensor:
    """About `count` rounds, evenly spread over the logarithm of time."""
    return torch.from_numpy(np.unique(np.geomspace(1, rounds, count).round().astype(np.int64)))


def draws(world: World, settings: Settings, samples: int = 1) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """The samples of each round: x [repetition, client, weight] and y [repetition, client], biased where malicious."""
    rng = generator(settings.seed, "theory")
    std = world.noise.sqrt()
    for start in range(0, settings.rounds, 64):
        shape = (min(64, settings.rounds - start), samples, settings.repetitions)
        x = world.features.draw(rng, world.observes, shape)
        noise = torch.from_numpy(rng.standard_normal((*shape, world.clients)))
        y = x @ world.theta + std * noise + world.shift
        for at in range(shape[0]):
            yield [(x[at, sample], y[at, sample]) for sample in range(samples)]


def full(world: World, rule: RuleName, band: Band) -> Method[Full]:
    """Exact Gaussian beliefs."""
    tolerated = int((1 - band.agreement) * world.weights + 1e-9)

    def judge(social: Full, local: Full, edges: Tensor) -> tuple[Full, Tensor]:
        shape = (social.mean.shape[0], world.clients, world.clients)
        if rule == "local_only":
            return social, torch.eye(world.clients, dtype=torch.bool).expand(shape)
        if rule == "bayp2pfl":
            return pool_full(social, edges), edges.expand(shape)
        trusted = inspect_full(local, social, edges, band.kappa, tolerated)
        pooled = pool_full(social, trusted)
        return introspect_full(pooled, local, band.kappa) if band.introspection else pooled, trusted

    return Method(
        lambda repetitions: Full.prior(world.prior, (repetitions, world.clients)),
        lambda belief, x, y: kalman(belief, x, y, world.noise.expand_as(y)),
        judge,
        rule == "surefed",
    )


BLOCK = 160
"""How many clients, of several repetitions, are judged in one call of a rule."""


def diagonal(world: World, rule: RuleName, band: Band) -> Method[Belief]:
    """A variance per weight, judged and pooled by `surefed.rules`: repetitions are federations that never meet."""
    spread = world.prior.diagonal()
    if not torch.equal(world.prior, torch.diag(spread)):
        raise ConfigError("beliefs with a diagonal covariance need a diagonal prior")
    looks = "always" if band.introspection else "never"
    options = {"kappa": band.kappa, "agreement": band.agreement, "introspection": looks}
    options |= {"heading": "off", "std_floor": 0.0, "std_ceiling": 0.0}
    judge_rows = RULES[rule](**(options if rule == "surefed" else {}))
    size = max(1, BLOCK // world.clients)

    def block(social: Belief, local: Belief, edges: Tensor) -> tuple[Belief, Tensor]:
        count = social.mean.shape[0]
        rows, own = _flat(social), _flat(local)
        hears = torch.block_diag(*[edges.double()] * count).bool()
        at = Receivers(rows, 0, 1, local=own, local_learns=torch.ones(len(rows), dtype=torch.bool))
        outcome = judge_rows.step(at, rows, hears, judge_rows.init(len(rows), len(rows), rows.weights))
        shape = (count, world.clients, count, world.clients)
        trusted = outcome.inspection.trusted.view(shape).diagonal(dim1=0, dim2=2).permute(2, 0, 1)
        return _stacked(outcome.social, count), trusted

    def judge(social: Belief, local: Belief, edges: Tensor) -> tuple[Belief, Tensor]:
        starts = range(0, social.mean.shape[0], size)
        done = [block(social[at : at + size], local[at : at + size], edges) for at in starts]
        merged = Belief(torch.cat([b.mean for b, _ in done]), torch.cat([b.rho for b, _ in done]))
        return merged, torch.cat([trusted for _, trusted in done])

    def start(repetitions: int) -> Belief:
        shape = (repetitions, world.clients, world.weights)
        return Belief(torch.zeros(shape, dtype=torch.float64), rho_of(spread.sqrt()).expand(shape))

    def learn(belief: Belief, x: Tensor, y: Tensor) -> Belief:
        return kalman_diagonal(belief, x, y, world.noise.expand_as(y))

    return Method(start, learn, judge, "local" in judge_rows.needs)


def _flat(belief: Belief) -> Belief:
    return Belief(belief.mean.flatten(0, 1), belief.rho.flatten(0, 1))


def _stacked(belief: Belief, count: int) -> Belief:
    return Belief(belief.mean.unflatten(0, (count, -1)), belief.rho.unflatten(0, (count, -1)))
