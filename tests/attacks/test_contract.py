"""What every attack must keep to; a new file in attacks/ is covered before its author writes a line."""

from __future__ import annotations

import pytest
import torch

from surefed.attacks import ATTACKS, Attack, Scene
from surefed.core import Belief, Stream
from surefed.core.registry import claim

MALICIOUS = torch.tensor([False, True, False, False, True, False])


def scene(beliefs: Belief) -> Scene:
    previous = Belief(beliefs.mean - 0.1, beliefs.rho)
    return Scene(beliefs, previous, MALICIOUS, torch.ones(6, 6, dtype=torch.bool), round=3)


def liars() -> Stream:
    return Stream(0, "lies", ["1", "4"])


@pytest.mark.parametrize("name", ATTACKS)
def test_honest_clients_send_what_they_learned_bit_for_bit(name: str, beliefs: Belief) -> None:
    before = beliefs.clone()
    sent = ATTACKS[name]().send(scene(beliefs), liars())
    assert torch.equal(sent.mean[~MALICIOUS], before.mean[~MALICIOUS])
    assert torch.equal(sent.rho[~MALICIOUS], before.rho[~MALICIOUS])
    assert torch.equal(beliefs.mean, before.mean), "an attack must not write into what was learned"


@pytest.mark.parametrize("name", ATTACKS)
def test_the_same_stream_gives_the_same_lie(name: str, beliefs: Belief) -> None:
    attack = ATTACKS[name]()
    one, other = (attack.send(scene(beliefs), liars()) for _ in range(2))
    assert torch.equal(one.mean, other.mean)
    assert torch.equal(one.rho, other.rho)


@pytest.mark.parametrize("name", ATTACKS)
def test_honest_data_is_untouched(name: str, rng: torch.Generator) -> None:
    inputs, labels = torch.rand(18, 1, 4, 4, generator=rng), torch.randint(0, 10, (18,), generator=rng)
    sizes = torch.tensor([3] * 6)
    seen, told = ATTACKS[name]().corrupt(inputs, labels, sizes, MALICIOUS, 10, Stream(0, "poison", range(6)))
    honest = (~MALICIOUS).repeat_interleave(sizes)
    assert torch.equal(seen[honest], inputs[honest])
    assert torch.equal(told[honest], labels[honest])
    assert told.min() >= 0
    assert told.max() < 10


@pytest.mark.parametrize("name", ATTACKS)
def test_with_nobody_malicious_nothing_happens(name: str, beliefs: Belief) -> None:
    nobody = torch.zeros(6, dtype=torch.bool)
    peaceful = Scene(beliefs, beliefs, nobody, torch.ones(6, 6, dtype=torch.bool), round=0)
    assert ATTACKS[name]().send(peaceful, liars()[:0]) is beliefs


@pytest.mark.parametrize("name", ATTACKS)
def test_it_says_what_it_does(name: str) -> None:
    attack = ATTACKS[name]()
    assert isinstance(attack, Attack)
    assert claim(ATTACKS[name]).endswith((".", ")"))
