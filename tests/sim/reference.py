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

from surefed.core import Stream


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
    reach: float = 0.0
    start: Tensor | None = None
    before: list[Tensor] = field(default_factory=list)
    rejected: int = 0
    overwritten: int = 0
    turned: int = 0
    backwards: int = 0

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
            sent.append((mean, variance))
        sets = [self.confidence_set(at, sent) for at in range(len(self.clients))]
        for at, trusted in enumerate(sets):
            self.aggregate(at, [sent[j] for j in sorted(trusted)])
        return sets

    def confidence_set(self, at: int, sent: list[tuple[Tensor, Tensor]]) -> set[int]:
        local = self.clients[at].local
        trusted = set()
        for j, (mean, _) in enumerate(sent):
            if not self.edges[at, j]:
                continue
            if self.heading is not None:
                (going, come), (own, reached) = self.way(at, mean), self.way(at, self.clients[at].social.mean)
                if going < max(self.heading * own, self.lowest):
                    self.turned += 1
                    continue
                if reached < self.reach and come < self.way(at, self.before[at])[1]:
                    self.backwards += 1
                    continue
            if all(abs(a - b) <= self.kappa * s for a, b, s in zip(local.mean, mean, local.std, strict=True)):
                trusted.add(j)
            else:
                self.rejected += 1
        return trusted

    @torch.no_grad()
    def way(self, at: int, mean: Tensor) -> tuple[float, float]:
        """Cosine of the ways from the start to a mean and to the client's local one, in its local stds; and how far."""
        assert self.start is not None
        local, squares, products = self.clients[at].local, [0.0, 0.0], 0.0
        for begun, mine, other, s in zip(self.start, local.mean, mean, local.std, strict=True):
            a, b = float(mine - begun) / float(s), float(other - begun) / float(s)
            products += a * b
            squares = [squares[0] + a * a, squares[1] + b * b]
        return products / (squares[0] * squares[1]) ** 0.5 if all(squares) else 0.0, products / squares[0]

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
        if self.heading is not None and self.way(at, social.mean)[0] < self.lowest:
            social.mean.copy_(local.mean)
            social.rho.copy_(local.rho)
            self.overwritten += len(local.mean)
        for k in range(len(local.mean)):
            if abs(local.mean[k] - social.mean[k]) > self.kappa * local.std[k]:
                social.mean[k] = local.mean[k]
                self.overwritten += 1
