"""What an attack is: a lie told with data, a lie told with beliefs, or both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from surefed.core import Belief, Stream

Poison = Callable[[Tensor, Tensor, int, Stream], tuple[Tensor, Tensor]]
"""(inputs [sample, ...], labels [sample], classes, rng) of one malicious client -> what it trains on instead."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What the attackers see when they lie with their beliefs.

    learned: what every client would honestly send. [client, weight]
    previous: everybody's social belief before this round's learning. [client, weight]
    malicious: bool [client].
    edges: bool [receiver, sender].
    round: which round it is.
    """

    learned: Belief
    previous: Belief
    malicious: Tensor
    edges: Tensor
    round: int


Tamper = Callable[[Scene, Stream], Belief]
"""(scene, rng with a row per malicious client) -> what the malicious clients send. [malicious, weight]"""


@dataclass(frozen=True, slots=True)
class Attack:
    """Two optional hooks; the caller applies them to malicious clients only, so honest ones cannot be touched."""

    poison: Poison | None = None
    tamper: Tamper | None = None

    def send(self, scene: Scene, rng: Stream) -> Belief:
        """What goes out over the network: the malicious rows replaced, the honest ones bit for bit as they were."""
        if self.tamper is None or not bool(scene.malicious.any()):
            return scene.learned
        lies = self.tamper(scene, rng)
        where = scene.malicious.nonzero().flatten()
        return Belief(
            scene.learned.mean.index_copy(0, where, lies.mean.to(scene.learned.mean.dtype)),
            scene.learned.rho.index_copy(0, where, lies.rho.to(scene.learned.rho.dtype)),
        )

    def corrupt(
        self, inputs: Tensor, labels: Tensor, sizes: Tensor, malicious: Tensor, classes: int, rng: Stream
    ) -> tuple[Tensor, Tensor]:
        """Everybody's data, that of the malicious clients poisoned.

        inputs: [sample, ...]; labels: [sample]; sizes: [client]; rng: a row per client.
        """
        if self.poison is None or not bool(malicious.any()):
            return inputs, labels
        inputs, labels = inputs.clone(), labels.clone()
        starts = (sizes.cumsum(0) - sizes).tolist()
        for client in malicious.nonzero().flatten().tolist():
            mine = slice(starts[client], starts[client] + int(sizes[client]))
            only = torch.tensor([client], device=sizes.device)
            inputs[mine], labels[mine] = self.poison(inputs[mine], labels[mine], classes, rng[only])
        return inputs, labels
