"""One client at a time, one network at a time: SureFED as one writes it first, with care but without stacking.

It is what the engine is measured against (`surefed bench --compare loop`): a mean and a rho per client and belief,
torch's automatic differentiation and fused Adam, a double loop over pairs for the inspection and a loop over receivers
for the pooling. It draws its own batches and noise, so its numbers differ from the engine's; what it computes does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from surefed.core import generator
from surefed.data import Federation
from surefed.learn import Network
from surefed.sim.experiment import Learn


@dataclass(frozen=True, slots=True)
class Own:
    """One belief of one client, and its optimiser. mean, rho: [weight]"""

    mean: Tensor
    rho: Tensor
    adam: torch.optim.Adam

    @property
    def std(self) -> Tensor:
        """The standard deviation. [weight]"""
        return F.softplus(self.rho)


class Loop:
    """Everybody's social and local belief, each an object of its own."""

    def __init__(self, module: nn.Module, data: Federation, plan: Learn, kappa: float) -> None:
        self.module, self.data, self.plan, self.kappa = module, data, plan, kappa
        self.shapes = [(name, value.shape) for name, value in module.named_parameters()]
        start = Network(module).initial().to(data.inputs.device)
        self.rng = generator(0, "loop")
        self.noise = torch.Generator(start.device).manual_seed(0)
        self.social = [self._belief(start) for _ in range(data.clients)]
        self.local = [self._belief(start) for _ in range(data.clients)]

    def _belief(self, start: Tensor) -> Own:
        mean, rho = start.clone().requires_grad_(), torch.full_like(start, self.plan.rho).requires_grad_()
        return Own(mean, rho, torch.optim.Adam([mean, rho], lr=self.plan.learning_rate or 1e-3, fused=True))

    def scores(self, weights: Tensor, inputs: Tensor) -> Tensor:
        """What a network with these weights says of the inputs. [sample, class]"""
        parameters, at = {}, 0
        for name, shape in self.shapes:
            parameters[name] = weights[at : at + shape.numel()].view(shape)
            at += shape.numel()
        scores: Tensor = functional_call(self.module, parameters, (inputs,))
        return scores

    def learn(self) -> None:
        """Both beliefs of every client take the batches of the round."""
        for client, (first, size) in enumerate(zip(self.data.starts.tolist(), self.data.sizes.tolist(), strict=True)):
            picked = first + self.rng.integers(size, size=(self.plan.batches, self.plan.batch_size))
            for belief in (self.social[client], self.local[client]):
                self._learn(belief, torch.from_numpy(picked).to(belief.mean.device))

    def _learn(self, belief: Own, batches: Tensor) -> None:
        prior_mean, prior_std = belief.mean.detach().clone(), belief.std.detach()
        for batch in batches:
            std = belief.std
            eps = torch.randn(std.shape, generator=self.noise, device=std.device)
            scores = self.scores(belief.mean + std * eps, self.data.inputs[batch])
            fit = F.cross_entropy(scores, self.data.labels[batch])
            ratio, shift = std / prior_std, (belief.mean - prior_mean) / prior_std
            divergence = ((ratio.square() + shift.square() - 1) / 2 - ratio.log()).sum()
            belief.adam.zero_grad()
            (fit + divergence / batches.numel()).backward()
            belief.adam.step()

    @torch.no_grad()
    def judge(self) -> list[list[int]]:
        """Everybody inspects everybody, pools the trusted and looks into itself; who trusts whom comes back."""
        sets, pooled = [], []
        precisions = [own.std.square().reciprocal() for own in self.social]
        for own, mine in zip(self.social, self.local, strict=True):
            width = self.kappa * mine.std
            trusted = [
                sender
                for sender, other in enumerate(self.social)
                if bool(((mine.mean - other.mean).abs() <= width).all())
            ]
            sets.append(trusted)
            mean, rho = self._pool(trusted, precisions) if trusted else (own.mean.clone(), own.rho.clone())
            pooled.append((torch.where((mean - mine.mean).abs() <= width, mean, mine.mean), rho))
        for own, (mean, rho) in zip(self.social, pooled, strict=True):
            own.mean.copy_(mean)
            own.rho.copy_(rho)
        return sets

    def _pool(self, trusted: list[int], precisions: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Mean and rho of the pooled belief: precisions are averaged, means weighted by them."""
        total, weighted = torch.zeros_like(precisions[0]), torch.zeros_like(precisions[0])
        for sender in trusted:
            total += precisions[sender]
            weighted.addcmul_(precisions[sender], self.social[sender].mean)
        return weighted / total, (total / len(trusted)).rsqrt().expm1().log()

    @torch.no_grad()
    def evaluate(self) -> Tensor:
        """Accuracy of everybody's social mean. [client]"""
        inputs, labels = self.data.test_inputs, self.data.test_labels
        return torch.stack([(self.scores(own.mean, inputs).argmax(-1) == labels).float().mean() for own in self.social])
