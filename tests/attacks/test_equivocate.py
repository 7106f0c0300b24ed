from __future__ import annotations

import torch

from surefed.attacks import ATTACKS
from surefed.core import Belief, rho_of

from .test_contract import MALICIOUS, heard, liars, scene

equivocate = ATTACKS["equivocate"]


def test_half_of_the_honest_are_told_one_thing_and_half_the_opposite() -> None:
    """All learned 3 with std 0.1: twice that is 0.2 up for one half, and as much down for the other."""
    learned = Belief(torch.full((6, 13), 3.0), rho_of(torch.full((6, 13), 0.1)))
    sent = equivocate(scale=2.0).send(learned, scene(learned), liars())
    honest = (~MALICIOUS).nonzero().flatten().tolist()
    for liar in (1, 4):
        told = torch.stack([heard(sent, receiver, liar).mean for receiver in honest]) - 3.0
        assert torch.allclose(told.abs(), torch.tensor(0.2), atol=1e-5)
        same = [torch.equal(row, told[0]) for row in told]
        assert same == [True, False, True, False]
        assert torch.allclose(told[0], -told[1], atol=1e-6)


def test_both_stories_together_are_the_truth(beliefs: Belief) -> None:
    """Who averages what two neighbours were told of a liar gets what it honestly learned."""
    sent = equivocate().send(beliefs, scene(beliefs), liars())
    for liar in (1, 4):
        one, other = heard(sent, 0, liar), heard(sent, 2, liar)
        assert not torch.allclose(one.mean, other.mean)
        assert torch.allclose((one.mean + other.mean) / 2, beliefs.mean[liar], atol=1e-5)
        assert torch.equal(one.rho, beliefs.rho[liar])


def test_liars_push_the_same_way(beliefs: Belief) -> None:
    sent = equivocate().send(beliefs, scene(beliefs), liars())
    ways = [(heard(sent, 0, liar).mean - beliefs.mean[liar]).sign() for liar in (1, 4)]
    assert torch.equal(*ways)
