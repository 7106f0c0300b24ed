"""What every attack must keep to; a new file in attacks/ is covered before its author writes a line."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from surefed.attacks import ATTACKS, Attack, Scene, Sent, Whispers
from surefed.core import Belief, Stream
from surefed.core.registry import claim

MALICIOUS = torch.tensor([False, True, False, False, True, False])
EDGES = torch.ones(6, 6, dtype=torch.bool)
EVERY_ATTACK = pytest.mark.parametrize("name", ATTACKS)
KNOWLEDGE = pytest.mark.parametrize("knowledge", ["omniscient", "own_data"])


def scene(beliefs: Belief, knowledge: str = "omniscient", malicious: Tensor = MALICIOUS) -> Scene:
    """Round 3 of six clients, two of them malicious."""
    previous, local = Belief(beliefs.mean - 0.1, beliefs.rho), Belief(beliefs.mean + 0.05, beliefs.rho)
    crowd = ~malicious if knowledge == "omniscient" else malicious
    return Scene(
        own=beliefs[malicious],
        start=previous[malicious],
        seen=beliefs[crowd],
        seen_start=previous[crowd],
        malicious=malicious,
        edges=EDGES,
        round=3,
        omniscient=knowledge == "omniscient",
        own_local=local[malicious],
        honest_local=local[~malicious] if knowledge == "omniscient" else None,
        trusted=EDGES if knowledge == "omniscient" else None,
    )


def liars() -> Stream:
    return Stream(0, "lies", ["1", "4"])


def heard(sent: Sent, receiver: int, sender: int) -> Belief:
    """The one message a receiver hears of a sender."""
    (message,) = ((sent.sender == sender) & sent.edges[receiver]).nonzero().flatten().tolist()
    return sent.belief[message]


@EVERY_ATTACK
@KNOWLEDGE
def test_honest_clients_send_what_they_learned_bit_for_bit(name: str, knowledge: str, beliefs: Belief) -> None:
    before = beliefs.clone()
    sent = ATTACKS[name]().send(beliefs, scene(beliefs, knowledge), liars())
    for receiver in range(6):
        for sender in (~MALICIOUS).nonzero().flatten().tolist():
            message = heard(sent, receiver, sender)
            assert torch.equal(message.mean, before.mean[sender])
            assert torch.equal(message.rho, before.rho[sender])
    assert torch.equal(beliefs.mean, before.mean), "an attack must not write into what was learned"
    assert torch.equal(beliefs.rho, before.rho)


@EVERY_ATTACK
@KNOWLEDGE
def test_everybody_hears_one_message_of_each_neighbour(name: str, knowledge: str, beliefs: Belief) -> None:
    sent = ATTACKS[name]().send(beliefs, scene(beliefs, knowledge), liars())
    count = torch.zeros(6, 6, dtype=torch.int64)
    for message, sender in enumerate(sent.sender.tolist()):
        count[:, sender] += sent.edges[:, message]
    assert torch.equal(count, EDGES.long())


@EVERY_ATTACK
def test_the_same_stream_gives_the_same_lie(name: str, beliefs: Belief) -> None:
    attack = ATTACKS[name]()
    one, other = (attack.send(beliefs, scene(beliefs), liars()) for _ in range(2))
    assert torch.equal(one.belief.mean, other.belief.mean)
    assert torch.equal(one.belief.rho, other.belief.rho)


@EVERY_ATTACK
def test_honest_data_is_untouched(name: str, rng: torch.Generator) -> None:
    inputs, labels = torch.rand(18, 1, 10, 10, generator=rng), torch.randint(0, 10, (18,), generator=rng)
    sizes = torch.tensor([3] * 6)
    seen, told = ATTACKS[name]().corrupt(inputs, labels, sizes, MALICIOUS, 10, Stream(0, "poison", range(6)))
    honest = (~MALICIOUS).repeat_interleave(sizes)
    assert torch.equal(seen[honest], inputs[honest])
    assert torch.equal(told[honest], labels[honest])
    assert told.min() >= 0
    assert told.max() < 10


@EVERY_ATTACK
def test_with_nobody_malicious_nothing_happens(name: str, beliefs: Belief) -> None:
    nobody = torch.zeros(6, dtype=torch.bool)
    assert ATTACKS[name]().send(beliefs, scene(beliefs, malicious=nobody), liars()[:0]).belief is beliefs


@EVERY_ATTACK
def test_it_says_what_it_does(name: str) -> None:
    attack = ATTACKS[name]()
    assert isinstance(attack, Attack)
    assert claim(ATTACKS[name]).endswith((".", ")"))


def test_whispers_reach_whom_they_are_meant_for(beliefs: Belief) -> None:
    """Liar 0 (client 1) tells even receivers one thing and odd ones another; liar 1 (client 4) tells all the same."""
    lies = Belief(torch.tensor([[1.0], [2.0], [3.0]]).expand(3, 13), torch.zeros(3, 13))
    even = torch.arange(6) % 2 == 0
    whispers = Whispers(lies, torch.tensor([0, 0, 1]), torch.stack((even, ~even, torch.ones_like(even)), dim=1))
    deaf = EDGES.clone()
    deaf[5, 1] = False
    quiet = replace(scene(beliefs), edges=deaf)
    sent = Attack(tamper=lambda scene, rng: whispers).send(beliefs, quiet, liars())
    assert [heard(sent, receiver, 1).mean[0].item() for receiver in range(5)] == [1.0, 2.0, 1.0, 2.0, 1.0]
    assert not (sent.edges[5] & (sent.sender == 1)).any()
    assert all(heard(sent, receiver, 4).mean[0].item() == 3.0 for receiver in range(6))
