from __future__ import annotations

import pytest
import torch

from surefed.attacks import ATTACKS, Scene
from surefed.core import Belief, Stream

WEIGHTS = 40_000


def lie(**options: object) -> tuple[Belief, Belief, Belief]:
    """What a lone malicious client had, learned and sent; its update has mean 0.01 and std 0.02."""
    rng = torch.Generator().manual_seed(0)
    previous = Belief(torch.randn(1, WEIGHTS, generator=rng), torch.full((1, WEIGHTS), -3.0))
    update = 0.01 + 0.02 * torch.randn(1, WEIGHTS, generator=rng)
    learned = Belief(previous.mean + update, previous.rho + 0.1)
    everybody, nobody = torch.tensor([True]), learned[:0]
    scene = Scene(learned, previous, nobody, nobody, everybody, torch.ones(1, 1, dtype=torch.bool), round=0)
    return previous, learned, ATTACKS["gaussian"](**options).send(learned, scene, Stream(0, "lies", ["0"])).belief


def test_add_keeps_the_update_and_adds_noise_of_its_own_std() -> None:
    _, learned, sent = lie(scale=3.0)
    noise = sent.mean - learned.mean
    assert noise.std().item() == pytest.approx(3 * 0.02, rel=0.02)
    assert noise.mean().item() == pytest.approx(0.0, abs=1e-3)
    assert torch.equal(sent.rho, learned.rho)


def test_replace_drops_the_update() -> None:
    previous, learned, sent = lie(mode="replace")
    noise = sent.mean - previous.mean
    assert noise.mean().item() == pytest.approx(0.0, abs=5e-4)  # the update's mean was 0.01
    assert noise.std().item() == pytest.approx(0.02, rel=0.02)
    together = torch.corrcoef(torch.cat((noise, learned.mean - previous.mean)))[0, 1]
    assert abs(together.item()) < 0.02


def test_absolute_does_not_look_at_the_update() -> None:
    previous, _, sent = lie(mode="absolute", scale=200.0)
    assert (sent.mean - previous.mean).std().item() == pytest.approx(200.0, rel=0.02)


def test_scale_zero_tells_the_truth_and_a_negative_one_is_refused() -> None:
    _, learned, sent = lie(scale=0.0)
    assert torch.allclose(sent.mean, learned.mean)
    with pytest.raises(ValueError, match="negative"):
        ATTACKS["gaussian"](scale=-1.0)
