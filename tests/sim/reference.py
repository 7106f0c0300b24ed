"""The paper's algorithm, and our headings before it, slow and plain: one client at a time, one network at a time, one
weight at a time where it matters. Written from the paper's pseudo-code and torch's own autograd, Adam and
distributions; of SureFED it uses only the random streams, which decide the minibatches and the noise."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.func import functional_call
from torch.nn import functional as F

from surefed.core import Stream, pushes


@dataclass
class Model:
    """A variational posterior with its optimiser."""

    mean: Tensor
    rho: Tensor
    optimiser: torch.optim.Adam

    @classmethod
    def start(cls, mean: Tensor, rho: float, rate: float) -> Model:
        means, rhos = mean.clone().requires_grad_(), torch.full_like(mean, rho).requires_grad_()
        return cls(means, rhos, torch.optim.Adam([means, rhos], lr=rate))

    @property
    def std(self) -> Tensor:
        return F.softplus(self.rho)


@dataclass
class Client:
    """A node of the paper's algorithm."""

    name: str
    inputs: Tensor
    labels: Tensor
    malicious: bool
    local: Model
    social: Model


@dataclass
class Felt:
    """What a client remembers of pushes; the sums are by sender, its own under -1."""

    course: Tensor
    pull: Tensor
    longest: float = 0.0
    along: dict[int, float] = field(default_factory=dict)
    pulled: dict[int, float] = field(default_factory=dict)
    weight: dict[int, float] = field(default_factory=dict)
    seen: dict[int, float] = field(default_factory=dict)
    heard: set[int] = field(default_factory=set)
    known: set[int] = field(default_factory=set)
    verdict: dict[int, str] = field(default_factory=dict)


def cosine(one: Tensor, other: Tensor) -> float:
    size = float(one.double().norm() * other.double().norm())
    return float(one.double() @ other.double()) / size if size else 0.0


@dataclass
class Reference:
    """All clients, and what happened."""

    module: nn.Module
    clients: list[Client]
    edges: Tensor  # [receiver, sender]
    seed: int
    kappa: float
    batches: int
    batch_size: int
    gaussian: float = 0.0
    heading: float | None = None
    lowest: float = 0.25
    flips: int | None = None
    against: float = 0.0
    ahead: float = 0.0
    adrift: float = 0.0
    start: Tensor | None = None
    before: list[Tensor] = field(default_factory=list)
    records: dict[int, Felt] = field(default_factory=dict)
    rejected: int = 0
    overwritten: int = 0
    turned: int = 0
    out: int = 0
    idle: int = 0
    elsewhere: int = 0
    dragged: int = 0
    turncoats: int = 0
    long: int = 0

    def free_energy(self, model: Model, prior: Normal, inputs: Tensor, labels: Tensor, eps: Tensor) -> Tensor:
        """KL[q || prior] - E_q[log P(D)], one draw; per sample, and with the KL shared by the round's batches."""
        weights = model.mean + model.std * eps
        parameters, at = {}, 0
        for name, value in self.module.named_parameters():
            parameters[name] = weights[at : at + value.numel()].view_as(value)
            at += value.numel()
        fit = F.cross_entropy(functional_call(self.module, parameters, (inputs,)), labels)
        divergence = kl_divergence(Normal(model.mean, model.std), prior).sum()
        return fit + divergence / (self.batches * self.batch_size)

    def learn(self, client: Client, kind: str, round: int) -> None:
        model: Model = getattr(client, kind)
        prior = Normal(model.mean.detach().clone(), model.std.detach().clone())
        order = Stream(self.seed, "order", [client.name]).order(torch.tensor([len(client.labels)]), round=round)[0]
        noise = Stream(self.seed, "noise", [(client.name, kind)])
        for turn in range(self.batches):
            picks = [(turn * self.batch_size + at) % len(client.labels) for at in range(self.batch_size)]
            batch = order[picks]
            eps = noise.normal(model.mean.numel(), round=round, draw=turn)[0]
            model.optimiser.zero_grad()
            self.free_energy(model, prior, client.inputs[batch], client.labels[batch], eps).backward()
            model.optimiser.step()

    def play(self, round: int) -> list[set[int]]:
        """One round of every client; returns the confidence sets."""
        self.before = before = [client.social.mean.detach().clone() for client in self.clients]
        for client in self.clients:
            self.learn(client, "local", round)
            self.learn(client, "social", round)
        sent = []
        for client, old in zip(self.clients, before, strict=True):
            mean, variance = client.social.mean.detach().clone(), client.social.std.detach().double() ** 2
            if client.malicious and self.gaussian:
                update = mean - old
                noise = Stream(self.seed, "lies", [client.name]).normal(mean.numel(), round=round)[0]
                mean = old + update + self.gaussian * update.std(correction=0) * noise
            if client.malicious and self.flips is not None and round >= self.flips:
                mean = old - (mean - old)
            sent.append((mean, variance))
        sets = [self.confidence_set(at, sent) for at in range(len(self.clients))]
        if self.remembers:
            for at, passed in enumerate(sets):
                self.weigh(at, sent, passed)
                sets[at] = {j for j in passed if self.records[at].verdict.get(j) not in ("against", "ahead")}
        for at, trusted in enumerate(sets):
            self.aggregate(at, [sent[j] for j in sorted(trusted)])
            if self.remembers:
                felt = self.records[at]
                felt.course = 0.98 * felt.course + 0.02 * (self.clients[at].social.mean.detach() - before[at])
                felt.heard, felt.known = trusted, felt.known | trusted
        return sets

    @property
    def remembers(self) -> bool:
        return self.heading is not None and (self.against > 0 or self.ahead > 0 or self.adrift > 0)

    @torch.no_grad()
    def weigh(self, at: int, sent: list[tuple[Tensor, Tensor]], passed: set[int]) -> None:
        """This round's pushes, and the verdicts that follow. passed: who passed the other tests."""
        old, new = self.before[at], self.clients[at].social.mean.detach()
        felt = self.records.setdefault(at, Felt(torch.zeros_like(old), torch.zeros_like(old)))
        felt.pull = 0.9 * felt.pull + 0.1 * (new - old)
        course = felt.course if float(felt.course.double() @ felt.pull.double()) > 0 else felt.pull
        felt.longest = max(0.98 * felt.longest, float((new - old).double().norm()))
        taken = float(felt.course.double() @ felt.pull.double()) / max(float(felt.pull.double().norm()), 1e-30)
        dragged = self.adrift > 0 and taken < -self.adrift * felt.longest
        if len(felt.heard) > 1:
            those = {j for j in felt.heard | (felt.known & passed) if self.edges[at, j]}
            for j, mean in [*((j, sent[j][0]) for j in those), (-1, new)]:
                size = max(1.0, float((mean - old).double().norm() / (pushes.FAR * felt.longest)))
                size = min(size, pushes.MOST) if cosine(course, mean - old) < 0 else 1.0
                self.long += size > 1
                for sums, value in (
                    (felt.along, size * cosine(course, mean - old)),
                    (felt.pulled, size * cosine(felt.pull, mean - old)),
                    (felt.weight, size),
                    (felt.seen, 1.0),
                ):
                    sums[j] = 0.98 * sums.get(j, 0.0) + 0.02 * value
        if felt.seen.get(-1, 0.0) == 0.0:
            return
        own, least = felt.along[-1] / felt.weight[-1], pushes.CHANCE / len(old) ** 0.5
        told = {j: min(felt.seen[j], felt.seen[-1]) for j in felt.seen if j >= 0}
        theirs = {j: felt.along[j] / felt.weight[j] for j in told}
        fair = sorted(theirs.get(j, 0.0) for j, verdict in felt.verdict.items() if verdict == "cleared")
        fellows = fair[(len(fair) - 1) // 2] if fair else own
        usual = max(own, fellows, pushes.CLEAR * least)
        patience = pushes.LONG if "ahead" in felt.verdict.values() else pushes.SOON
        drivers = set()
        for j, value in theirs.items():
            verdict = felt.verdict.get(j)
            limit = self.ahead * usual * (2 if verdict == "cleared" else 1)
            if verdict in (None, "cleared") and told[j] >= patience and self.ahead > 0 and value * told[j] > limit:
                drivers.add(j)
        for j, value in theirs.items():
            full = told[j] >= pushes.FULL
            verdict = felt.verdict.get(j)
            back = full and value < -least and felt.pulled[j] < 0
            if dragged and not drivers and back and verdict not in ("against", "ahead"):
                self.dragged += 1
                self.turncoats += verdict == "cleared"
                felt.verdict[j] = "against"
        for j, value in theirs.items():
            cleared = felt.verdict.get(j) == "cleared"
            if drivers or felt.verdict.get(j) in ("against", "ahead") or told[j] < pushes.ENOUGH or own < least:
                continue
            if fair and fellows < 0:
                self.elsewhere += 1
                continue
            sure = not cleared or own >= pushes.AGAIN * least
            back = sure and value < -self.against * own * (2 if cleared else 1) and felt.pulled[j] < 0
            clear = own >= pushes.CLEAR * least
            idle = clear and not cleared and told[j] >= pushes.FULL and value < 0
            alike = own / pushes.ALIKE <= value <= own * pushes.ALIKE
            if self.against > 0 and (back or idle):
                felt.verdict[j] = "against"
                self.out += 1
                self.idle += not back
            elif clear and told[j] >= pushes.LONG and alike and felt.pulled[j] >= 0:
                felt.verdict[j] = "cleared"
        for j in drivers:
            felt.verdict[j] = "ahead"
            self.out += 1
        if drivers:
            felt.course = torch.zeros_like(old)
            felt.along, felt.pulled, felt.weight, felt.seen = {}, {}, {}, {}

    def confidence_set(self, at: int, sent: list[tuple[Tensor, Tensor]]) -> set[int]:
        local = self.clients[at].local
        trusted = set()
        for j, (mean, _) in enumerate(sent):
            if not self.edges[at, j]:
                continue
            if self.heading is not None:
                going, own = self.way(at, mean), self.way(at, self.clients[at].social.mean)
                felt = self.records.get(at)
                if felt is not None and felt.verdict.get(j) in ("against", "ahead"):
                    continue
                new = felt is None or j not in felt.known
                if going < self.heading * own or (new and going < self.lowest):
                    self.turned += 1
                    continue
            if all(abs(a - b) <= self.kappa * s for a, b, s in zip(local.mean, mean, local.std, strict=True)):
                trusted.add(j)
            else:
                self.rejected += 1
        return trusted

    @torch.no_grad()
    def way(self, at: int, mean: Tensor) -> float:
        """Cosine of the ways from the start to a mean and to the client's local one, in its local stds."""
        assert self.start is not None
        local, squares, products = self.clients[at].local, [0.0, 0.0], 0.0
        for begun, mine, other, s in zip(self.start, local.mean, mean, local.std, strict=True):
            a, b = float(mine - begun) / float(s), float(other - begun) / float(s)
            products += a * b
            squares = [squares[0] + a * a, squares[1] + b * b]
        return products / (squares[0] * squares[1]) ** 0.5 if all(squares) else 0.0

    @torch.no_grad()
    def aggregate(self, at: int, trusted: list[tuple[Tensor, Tensor]]) -> None:
        social, local = self.clients[at].social, self.clients[at].local
        if trusted:
            share = 1.0 / len(trusted)
            precision = sum((share / variance for _, variance in trusted), torch.zeros(()))
            mean = sum((share * value.double() / variance for value, variance in trusted), torch.zeros(())) / precision
            std = precision.rsqrt()
            social.mean.copy_(mean.float())
            social.rho.copy_(torch.log(torch.expm1(std)).float())
        alone = at not in self.records or len(self.records[at].known) <= 1
        if self.heading is not None and self.way(at, social.mean) < (self.lowest if alone else min(self.lowest, 0.0)):
            social.mean.copy_(local.mean)
            social.rho.copy_(local.rho)
            self.overwritten += len(local.mean)
        for k in range(len(local.mean)):
            if abs(local.mean[k] - social.mean[k]) > self.kappa * local.std[k]:
                social.mean[k] = local.mean[k]
                self.overwritten += 1
