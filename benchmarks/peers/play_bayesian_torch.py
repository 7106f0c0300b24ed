"""SureFED as one would script it with bayesian-torch: two Bayesian networks a client, a loop for everything.

Each network's prior is what it believed when the round began. bayesian-torch averages the KL over the weights of a
layer where the paper sums; that changes the result, not the work.
"""

from __future__ import annotations

import torch
import workload as w
from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss
from torch import Tensor, nn
from torch.nn import functional as F

PRIOR = {
    "prior_mu": 0.0,
    "prior_sigma": 1.0,
    "posterior_mu_init": 0.0,
    "posterior_rho_init": w.RHO,
    "type": "Reparameterization",
    "moped_enable": False,
    "moped_delta": 0.5,
}


class Belief:
    """A Bayesian network, the (mean, rho) pairs of its layers, and its optimiser."""

    def __init__(self, start: dict[str, Tensor] | None) -> None:
        self.net = w.cnn()
        dnn_to_bnn(self.net, PRIOR)
        if start is not None:
            self.net.load_state_dict(start)
        self.layers: list[nn.Module] = [layer for layer in self.net if hasattr(layer, "kl_loss")]
        self.parts = [
            (getattr(layer, f"mu_{what}"), getattr(layer, f"rho_{what}"), layer, what)
            for layer in self.layers
            for what in ("weight", "kernel", "bias")
            if hasattr(layer, f"mu_{what}")
        ]
        self.adam = torch.optim.Adam(self.net.parameters(), lr=w.ADAM_RATE)

    @torch.no_grad()
    def remember(self) -> None:
        """What is believed now is the prior of this round."""
        for mean, rho, layer, what in self.parts:
            name = "weight" if what == "kernel" else what
            getattr(layer, f"prior_{name}_mu").copy_(mean)
            getattr(layer, f"prior_{name}_sigma").copy_(F.softplus(rho))

    def learn(self, inputs: Tensor, labels: Tensor) -> None:
        self.remember()
        for x, y in zip(inputs, labels, strict=True):
            self.adam.zero_grad()
            loss = F.cross_entropy(self.net(x), y) + get_kl_loss(self.net) / (w.BATCHES * w.BATCH)
            loss.backward()
            self.adam.step()


@torch.no_grad()
def judge(social: list[Belief], local: list[Belief]) -> None:
    pooled = []
    precisions = [[F.softplus(rho).square().reciprocal() for _, rho, *_ in other.parts] for other in social]
    for mine in local:
        widths = [w.KAPPA * F.softplus(rho) for _, rho, *_ in mine.parts]
        trusted = [
            at
            for at, other in enumerate(social)
            if all(
                bool(((a[0] - b[0]).abs() <= width).all())
                for a, b, width in zip(mine.parts, other.parts, widths, strict=True)
            )
        ]
        assert len(trusted) == len(social)
        merged = []
        for part, (mean, *_) in enumerate(mine.parts):
            total, weighted = torch.zeros_like(mean), torch.zeros_like(mean)
            for at in trusted:
                total += precisions[at][part]
                weighted.addcmul_(precisions[at][part], social[at].parts[part][0])
            merged.append((weighted / total, (total / len(trusted)).rsqrt().expm1().log()))
        pooled.append(merged)
    for own, merged in zip(social, pooled, strict=True):
        for (mean, rho, *_), (new_mean, new_rho) in zip(own.parts, merged, strict=True):
            mean.copy_(new_mean)
            rho.copy_(new_rho)


def main() -> None:
    torch.manual_seed(0)
    inputs, labels = w.images()
    start = Belief(None).net.state_dict()
    social, local = ([Belief(start) for _ in range(w.CLIENTS)] for _ in range(2))

    def play() -> None:
        for client in range(w.CLIENTS):
            picked = torch.randperm(w.SAMPLES)[: w.BATCHES * w.BATCH].view(w.BATCHES, w.BATCH)
            for belief in (social[client], local[client]):
                belief.learn(inputs[client, picked], labels[client, picked])
        judge(social, local)

    w.time_rounds(play)


main()
