"""What an attack is: a lie told with data, a lie told with beliefs, or both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from surefed.core import Belief, DataError, Round, Stream

Poison = Callable[[Tensor, Tensor, "Victim", Stream], tuple[Tensor, Tensor]]
"""(inputs [sample, ...], labels [sample], who, rng) of one malicious client -> what it trains on instead."""


@dataclass(frozen=True, slots=True)
class Victim:
    """The malicious client whose data is poisoned.

    classes: how many classes there are. rank: its number among the malicious clients, for attacks that collude.
    background: the input value that means "nothing here", 0 for light strokes on dark, 1 for dark on light.
    """

    classes: int
    rank: int
    background: float


@dataclass(frozen=True, slots=True)
class Scene:
    """What the attackers know when they lie with their beliefs; the threat model decides, and they get no more.

    own: what each malicious client honestly learned this round. [malicious, weight]
    start: its social belief before this round's learning. [malicious, weight]
    own_local: its local belief, if the rule trains one. [malicious, weight]
    seen: the messages the attackers judge the crowd by: every honest client's (omniscient), or what they learned
        themselves (own_data), from poisoned data if the attack poisons. [seen, weight]
    seen_start: the social beliefs these started from. [seen, weight]
    honest_local: the honest clients' local beliefs (omniscient, and only if the rule trains them). [honest, weight]
    trusted: who trusted whom in the round before, None in the first and under own_data. bool [receiver, sender]
    malicious: bool [client]. edges: bool [receiver, sender].
    round: counted from 0; to an attack that is `steady` a tensor, where the round is captured on a GPU.
    omniscient: whether `seen` are the honest clients' messages.
    """

    own: Belief
    start: Belief
    seen: Belief
    seen_start: Belief
    malicious: Tensor
    edges: Tensor
    round: Round
    omniscient: bool = True
    own_local: Belief | None = None
    honest_local: Belief | None = None
    trusted: Tensor | None = None

    @property
    def liars(self) -> int:
        """How many malicious clients there are."""
        return len(self.own)

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return len(self.malicious)

    @property
    def number(self) -> int:
        """The round's number, for attacks that reckon with it; they are not `steady`."""
        return int(self.round)

    @property
    def camps(self) -> tuple[Tensor, Tensor]:
        """The malicious and the honest clients, in order, without waiting for a GPU. int64 [malicious], [honest]"""
        order = (~self.malicious).to(torch.uint8).argsort(stable=True)
        return order[: self.liars], order[self.liars :]


@dataclass(frozen=True, slots=True)
class Whispers:
    """Different lies to different receivers.

    belief: [message, weight]. liar: int64 [message], which malicious client (by rank) sends it.
    to: bool [receiver, message], who is told it; a receiver that hears a liar is told exactly one of its messages.
    """

    belief: Belief
    liar: Tensor
    to: Tensor


Tamper = Callable[[Scene, Stream], Belief | Whispers]
"""(scene, rng with a row per malicious client) -> what they send: a lie each [malicious, weight], or whispers."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What goes out over the network.

    belief: [message, weight]. sender: int64 [message], the client it comes from.
    edges: bool [receiver, message], who hears it.
    """

    belief: Belief
    sender: Tensor
    edges: Tensor


@dataclass(frozen=True, slots=True)
class Trigger:
    """A backdoor to be measured: how an input is stamped, and the class that the stamp shall lead to.

    stamp: (inputs [sample, ...], background) -> stamped inputs.
    """

    stamp: Callable[[Tensor, float], Tensor]
    target: int


@dataclass(frozen=True, slots=True)
class Attack:
    """Two optional hooks; they are applied to malicious clients only, so honest ones cannot be touched.

    poison: changes a malicious client's samples. tamper: changes what the malicious clients send.
    trigger: the backdoor, for attacks that plant one.
    local: whether tamper looks at local beliefs, which are then trained even under rules that need none.
    steady: whether tamper sends one lie a client, looks at the round's number only to draw random numbers and at no
        trust, and never waits for a GPU, so that one round of it can be captured and replayed.
    """

    poison: Poison | None = None
    tamper: Tamper | None = None
    trigger: Trigger | None = None
    local: bool = False
    steady: bool = False

    def send(self, learned: Belief, scene: Scene, rng: Stream) -> Sent:
        """What goes out: the malicious messages replaced, the honest ones bit for bit as they were learned.

        learned: what every client would honestly send. [client, weight]
        """
        everybody = torch.arange(scene.clients, device=scene.malicious.device)
        if self.tamper is None or scene.liars == 0:
            return Sent(learned, everybody, scene.edges)
        lies = self.tamper(scene, rng)
        liars, honest = scene.camps
        if isinstance(lies, Belief):
            mean = learned.mean.index_copy(0, liars, lies.mean.to(learned.mean.dtype))
            rho = learned.rho.index_copy(0, liars, lies.rho.to(learned.rho.dtype))
            return Sent(Belief(mean, rho), everybody, scene.edges)
        sender = torch.cat((honest, liars[lies.liar]))
        mean = torch.cat((learned.mean[honest], lies.belief.mean.to(learned.mean.dtype)))
        rho = torch.cat((learned.rho[honest], lies.belief.rho.to(learned.rho.dtype)))
        told = torch.cat((torch.ones_like(scene.edges[:, honest]), lies.to), dim=1)
        return Sent(Belief(mean, rho), sender, scene.edges[:, sender] & told)

    def corrupt(
        self,
        inputs: Tensor,
        labels: Tensor,
        sizes: Tensor,
        malicious: Tensor,
        classes: int,
        rng: Stream,
        background: float = 0.0,
    ) -> tuple[Tensor, Tensor]:
        """Everybody's data, that of the malicious clients poisoned.

        inputs: [sample, ...]; labels: [sample]; sizes: [client]; rng: a row per client.
        """
        if self.poison is None or not bool(malicious.any()):
            return inputs, labels
        inputs, labels = inputs.clone(), labels.clone()
        starts = (sizes.cumsum(0) - sizes).tolist()
        for rank, client in enumerate(malicious.nonzero().flatten().tolist()):
            mine = slice(starts[client], starts[client] + int(sizes[client]))
            only = torch.tensor([client], device=sizes.device)
            who = Victim(classes, rank, background)
            try:
                inputs[mine], labels[mine] = self.poison(inputs[mine], labels[mine], who, rng[only])
            except ValueError as error:
                raise DataError(f"this attack does not fit this data: {error}") from error
        return inputs, labels
