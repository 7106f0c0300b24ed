"""Rounds that are captured and replayed are those that are played; every path leads to the same beliefs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest
import torch

from surefed.attacks import ATTACKS
from surefed.core import cuda
from surefed.data import Federation, federation
from surefed.rules import RULES
from surefed.sim import Experiment
from surefed.sim.assemble import assemble
from surefed.sim.checkpoint import pack
from surefed.sim.engine import begin, play_round
from surefed.sim.replay import steady
from surefed.sim.setup import Setup
from surefed.sim.world import World

GPU = torch.cuda.is_available()
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not GPU, reason="there is no GPU"))]
SUREFED: dict[str, Any] = {"rule": {"name": "surefed", "kappa": 16.0}}
LIES = [name for name, made in ATTACKS.items() if made().steady and made().tamper is not None]
STEADY = [name for name, made in RULES.items() if made().steady]


def data(side: int) -> Federation:
    """Images of three classes, each a pattern of its own under noise, dealt out to five clients."""
    rng = np.random.default_rng(0)
    patterns = rng.random((3, 1, side, side), dtype=np.float32)

    def draw(count: int) -> tuple[Any, Any]:
        labels = rng.integers(0, 3, count)
        return patterns[labels] + 0.3 * rng.standard_normal((count, 1, side, side)).astype(np.float32), labels

    return federation([draw(24) for _ in range(5)], draw(30), classes=3)


def setup(given: dict[str, Any], device: str = "cpu") -> Setup:
    liars = {"name": "label_flip", "malicious": 0.2}
    experiment = Experiment.of({"model": {"name": "mlp"}, "attack": liars} | given)
    return assemble(experiment, data=data(28 if experiment.model.name == "cnn" else 8), device=device)


def played(experiment: Setup, rounds: int) -> tuple[World, list[torch.Tensor]]:
    world = begin(experiment)
    return world, [play_round(experiment, world).trusted.cpu() for _ in range(rounds)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "given",
    [
        SUREFED,
        {"rule": {"name": "surefed", "kappa": "auto"}},
        {"rule": {"name": "bayp2pfl"}, "graph": {"name": "drop_edges", "of": "complete", "share": 0.3}},
        {"rule": {"name": "fedavg"}, "attack": {"name": "label_flip", "malicious": 0.2, "start": 2, "stop": 4}},
        {"rule": {"name": "local_only"}},
        {"rule": {"name": "bayp2pfl"}, "learn": {"kind": "ivon", "prior": "fixed", "prior_std": 0.3}},
        {"rule": {"name": "zeno"}},
        SUREFED | {"learn": {"early_stop": 1}},
        {"rule": {"name": "trimmed_mean"}, "attack": {"name": "gaussian", "malicious": 0.4, "start": 2, "stop": 4}},
        *(SUREFED | {"attack": {"name": name, "malicious": 0.4}} for name in LIES),
        *({"rule": {"name": name}, "attack": {"name": "alie", "malicious": 0.4}} for name in STEADY),
    ],
    ids=str,
)
def test_a_round_whose_number_is_a_tensor_is_the_same_round(
    given: dict[str, Any], device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefed.sim.engine.steady", lambda *_: False)
    plain, trusted = played(setup(given, device), 6)
    monkeypatch.setattr("surefed.sim.engine.steady", lambda *_: True)
    fast, again = played(setup(given, device), 6)
    assert fast.replay is not None
    assert fast.round == plain.round == 6
    assert all(torch.equal(one, other) for one, other in zip(trusted, again, strict=True))
    torch.testing.assert_close(fast.rows.mean, plain.rows.mean, rtol=0.0, atol=0.0 if device == "cpu" else 1e-5)
    assert torch.equal(fast.trusted.cpu(), again[-1])


@pytest.mark.skipif(not GPU, reason="there is no GPU")
@pytest.mark.parametrize("name", ["none", "label_flip", "alie", "sign_flip", "gaussian", "trojan"])
@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_surefeds_rounds_are_captured(name: str, model: str) -> None:
    attack = {"name": name, "malicious": 0.4}
    world, _ = played(setup({"rule": {"name": "surefed"}, "attack": attack, "model": {"name": model}}, "cuda"), 3)
    assert world.replay is not None
    assert world.replay.captured


def test_a_round_that_no_graph_can_hold_is_played_and_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("surefed.sim.engine.steady", lambda *_: True)
    experiment = setup(SUREFED)
    world = begin(experiment)
    play_round(experiment, world)
    assert world.replay is not None
    monkeypatch.setattr(world.replay, "setup", SimpleNamespace(device=torch.device("cuda"), edges=experiment.edges))
    monkeypatch.setattr(world.replay, "serves", lambda *_: True)

    def refuse(*_: object, **__: object) -> NoReturn:
        raise RuntimeError("somebody waits for the host")

    for name in ("CUDAGraph", "current_stream", "default_stream"):
        monkeypatch.setattr(torch.cuda, name, lambda *_: None)
    monkeypatch.setattr(torch.cuda, "graph", refuse)
    for _ in range(3):
        play_round(experiment, world)
    assert world.round == 4
    assert not world.replay.captured
    assert [record.getMessage().rsplit(": ")[-1] for record in caplog.records] == ["somebody waits for the host"]


def test_what_a_round_trusts_is_not_written_over_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefed.sim.engine.steady", lambda *_: True)
    experiment = setup({"rule": {"name": "bayp2pfl"}})
    world = begin(experiment)
    first, second = play_round(experiment, world), play_round(experiment, world)
    assert first.trusted.data_ptr() != second.trusted.data_ptr()


def test_only_rounds_that_differ_in_nothing_but_their_number_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    def replayed(given: dict[str, Any], round: int = 3) -> bool:
        experiment = setup(given)
        with monkeypatch.context() as there:
            there.setattr(cuda, "here", lambda value: True)
            return steady(experiment, round)

    assert replayed(SUREFED)
    lying = {"attack": {"name": "sign_flip", "malicious": 0.2, "start": 3}}
    assert replayed(SUREFED | lying, round=2)
    assert replayed(SUREFED | lying, round=3)
    assert not replayed(SUREFED | {"attack": {"name": "slow_drift", "malicious": 0.2, "start": 3}})
    assert replayed(SUREFED | {"learn": {"early_stop": 2}})
    assert not replayed({"rule": {"name": "surefed", "introspection": "first_rounds", "introspection_rounds": 5}})
    assert not replayed({"rule": {"name": "krum"}})
    assert not replayed({"rule": {"name": "fedavg", "before": "nnm"}})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "given",
    [
        {"learn": {"early_stop": 1}},
        {"learn": {"early_stop": 1, "keep_moments": False}},
        {"learn": {"early_stop": 1}, "rule": {"name": "surefed", "kappa": "auto"}},
        {"learn": {"early_stop": 1, "kind": "ivon", "prior": "fixed", "prior_std": 0.3}},
    ],
    ids=str,
)
def test_teaching_all_and_putting_the_stopped_back_is_teaching_the_others(
    given: dict[str, Any], device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefed.sim.engine.steady", lambda *_: False)
    worlds = []
    for all_of_them in (False, True):
        monkeypatch.setattr("surefed.sim.engine.without_host", lambda _, fast=all_of_them: fast)
        worlds.append(played(setup(SUREFED | given, device), 30)[0])
    masked, fast = worlds
    assert 0 < int(masked.watch.learning.sum()) < 5
    again = pack(fast)
    for name, value in pack(masked).items():
        exact = not value.is_floating_point() or name == "watch.best"
        same = torch.equal(again[name], value) if exact else (again[name] - value).norm() <= 1e-5 * value.norm()
        assert same, name


@pytest.mark.parametrize("device", DEVICES)
def test_a_stopped_belief_never_changes_again(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefed.sim.engine.steady", lambda *_: True)
    monkeypatch.setattr("surefed.sim.engine.without_host", lambda _: True)
    experiment = setup(SUREFED | {"learn": {"early_stop": 1}}, device)
    world, _ = played(experiment, 30)
    stopped = experiment.clients + (~world.watch.learning).nonzero().flatten()
    learning = experiment.clients + world.watch.learning.nonzero().flatten()
    before = world.rows.clone()
    for _ in range(3):
        play_round(experiment, world)
    assert len(stopped) > 0
    for name in ("mean", "rho", "steps"):
        now, was = getattr(world.rows, name), getattr(before, name)
        assert torch.equal(now[stopped], was[stopped])
        assert (now[learning] != was[learning]).any()
    for now, was in zip(world.rows.moments, before.moments, strict=True):
        assert torch.equal(now[stopped], was[stopped])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("given", "rounds"),
    [
        (SUREFED, 50),
        (SUREFED | {"learn": {"early_stop": 1}}, 50),
        ({"rule": {"name": "bayp2pfl"}}, 50),
        ({"rule": {"name": "fedavg"}}, 50),
        ({"rule": {"name": "trimmed_mean"}}, 50),
        ({"rule": {"name": "zeno"}}, 50),
        ({"model": {"name": "cnn"}, "rule": {"name": "surefed", "heading": 0.0, "lowest": -1.0}}, 3),
        ({"model": {"name": "cnn"}, "rule": {"name": "trimmed_mean"}}, 3),
    ],
    ids=str,
)
def test_rounds_of_the_kernels_are_those_of_torch(
    given: dict[str, Any], rounds: int, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a CNN fewer: Adam lets rounding grow, on a GPU to 1e-4 within five rounds.

    cuDNN's grouped convolutions are a thousandth off even where they may not use tf32.
    """
    fast, trusted = played(setup(given, device), rounds)
    with monkeypatch.context() as plainly:
        plainly.setattr("surefed.core.native.edges.library", lambda: None)
        plainly.setattr(cuda, "_HERE", False)
        plainly.setattr(torch.backends.cudnn, "enabled", False)
        plain, expected = played(setup(given, device), rounds)
    assert all(torch.equal(one, other) for one, other in zip(trusted, expected, strict=True))
    assert torch.equal(fast.watch.learning, plain.watch.learning)
    assert "learn" not in given or 0 < int(fast.watch.learning.sum()) < 5  # some have stopped, some have not
    for one, other in ((fast.rows.mean, plain.rows.mean), (fast.rows.rho, plain.rows.rho)):
        assert (one - other).norm() <= 1e-4 * other.norm()
