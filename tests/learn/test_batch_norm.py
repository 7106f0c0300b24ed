"""BatchNorm: statistics stay with their row, its own weights have no posterior and are averaged uninspected."""

from __future__ import annotations

import dataclasses
import os
import signal
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from surefed.core import RHO_MIN, STD_MIN, Belief, Interrupted, Stream
from surefed.data import DATASETS, Federation, federation
from surefed.learn import Lesson, Masks, Network, Variational, predict
from surefed.rules import RULES, Receivers
from surefed.sim import Experiment, run
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round, predictions


def chain() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3, bias=False), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(27, 4, bias=False),
        nn.BatchNorm1d(4, affine=False, momentum=0.3),
    )  # fmt: skip


class Own(nn.Module):
    """Not known to the fast path."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = chain()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x)
        return out


@pytest.mark.parametrize("make", [chain, Own])
def test_rows_equal_separate_modules_in_training_and_prediction(make: type[nn.Module], rng: torch.Generator) -> None:
    network = Network(make())
    assert (network._plan is not None) == (make is chain)
    flat = network.initial() + 0.1 * torch.randn(3, network.weights, generator=rng)
    buffers = network.initial_buffers().repeat(3, 1)
    assert buffers.shape == (3, 2 * 3 + 2 * 4)
    steps = torch.randn(2, 3, 5, 1, 5, 5, generator=rng)
    modules = [make() for _ in range(3)]
    for row, module in enumerate(modules):
        nn.utils.vector_to_parameters(flat[row], module.parameters())
    for turn, inputs in enumerate(steps):
        leaves = [part.detach().requires_grad_() for part in network.split(flat)]
        noise = Masks(Stream(0, "noise", range(3)), 0, turn)
        outputs = network.apply(leaves, inputs, masks=noise, buffers=buffers)
        slopes = torch.autograd.grad(outputs.square().sum(), leaves)
        for row, module in enumerate(modules):
            module.zero_grad()
            alone = module(inputs[row])
            alone.square().sum().backward()
            assert torch.allclose(outputs[row], alone, atol=1e-5)
            for stacked, value in zip(slopes, module.parameters(), strict=True):
                assert value.grad is not None
                assert torch.allclose(stacked[row], value.grad, atol=1e-4)
    before = buffers.clone()
    predicted = network.apply(network.split(flat), steps[0], buffers=buffers)
    assert torch.equal(buffers, before), "prediction moves nothing"
    for row, module in enumerate(modules):
        kept = [value for name, value in module.named_buffers() if "tracked" not in name]
        assert torch.allclose(buffers[row], torch.cat(kept), atol=1e-6)
        assert torch.allclose(predicted[row], module.eval()(steps[0][row]), atol=1e-5)
    assert all(torch.equal(a, b) for a, b in zip(network.module.buffers(), make().buffers(), strict=True))


def test_only_its_own_weights_are_certain() -> None:
    network = Network(chain())
    assert network.certain is not None
    names = {network.layer_of(int(at)) for at in network.certain.nonzero()}
    assert names == {"1.weight", "1.bias"}
    assert Network(nn.Linear(2, 2)).certain is None
    with pytest.raises(ValueError, match="running statistics"):
        network.apply(network.split(network.initial()[None]), torch.zeros(1, 2, 1, 5, 5))


def lesson(rows: int = 3) -> Lesson:
    rng = torch.Generator().manual_seed(1)
    inputs, labels = torch.randn(30, 1, 5, 5, generator=rng), torch.randint(0, 4, (30,), generator=rng)
    seen = torch.randint(0, 30, (rows, 3, 5), generator=rng)
    return Lesson(inputs, labels, seen, torch.full((rows,), 30), Stream(0, "noise", range(rows)), round=2)


@pytest.mark.parametrize("prior", ["streaming", "fixed"])
def test_certain_weights_learn_by_adam_without_noise_or_kl(prior: str) -> None:
    learner = Variational(Network(chain()), prior=prior, kl_scale=50.0)  # type: ignore[arg-type]
    certain = learner.network.certain
    assert certain is not None
    rows, taught = learner.init(learner.network.initial(), 1), lesson(1)
    start = rows.mean.clone()
    one = dataclasses.replace(taught, batches=taught.batches[:, :1])
    learner.learn(rows, one)
    assert (rows.rho[:, certain] == RHO_MIN).all()
    # by hand: the first step of Adam moves each weight by the learning rate against its gradient, which is that of
    # the loss alone; the other weights are drawn, the certain ones are not
    eps = taught.noise.normal(learner.network.weights, round=2, draw=0)
    std = F.softplus(torch.tensor(learner.rho)) * (~certain)
    module = chain()
    nn.utils.vector_to_parameters((start + std * eps)[0], module.parameters())
    seen = taught.batches[0, 0]
    F.cross_entropy(module(taught.inputs[seen]), taught.labels[seen]).backward()
    slope = torch.cat([value.grad.flatten() for value in module.parameters() if value.grad is not None])[certain]
    moved = (rows.mean - start)[0, certain]
    assert torch.allclose(moved, -1e-3 * slope / (slope.abs() + 1e-8), atol=1e-6)


def test_statistics_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Variational(Network(chain()))
    together, alone = (learner.init(learner.network.initial(), 3) for _ in range(2))
    learner.learn(together, lesson())
    monkeypatch.setattr("surefed.learn.base.BLOCK", 1)
    learner.learn(alone, lesson(), active=torch.tensor([True, False, True]))
    assert torch.allclose(together.buffers[[0, 2]], alone.buffers[[0, 2]], atol=1e-6)
    assert torch.equal(alone.buffers[1], learner.network.initial_buffers())
    assert not torch.allclose(together.buffers[0], together.buffers[1])


def receivers(certain: Tensor | None) -> Receivers:
    local = Belief.constant(torch.zeros(1, 3), 0.1)
    return Receivers(
        local, 0, 1, local=local, local_learns=torch.ones(1, dtype=torch.bool), certain=certain, detail=True
    )


@pytest.mark.parametrize("kappa", [0.0, 2.0])
def test_surefed_leaves_certain_weights_out_of_the_band_and_averages_them(kappa: float) -> None:
    certain = torch.tensor([False, False, True])
    mean = torch.tensor([[0.0, 0.0, 5.0], [0.0, 0.0, -1.0], [0.0, 0.9, 0.0]])
    sent = Belief(mean, torch.tensor([[-3.0, -3.0, -13.0], [-3.0, -3.0, 4.0], [-3.0, -3.0, -3.0]]))
    rule = RULES["surefed"](kappa=kappa, heading="off", std_floor=0.0, std_ceiling=0.0)
    outcome = rule.step(receivers(certain), sent, torch.ones(1, 3, dtype=torch.bool), rule.init(1, 3, sent.weights))
    assert outcome.inspection.trusted.tolist() == [[True, True, False]]
    assert outcome.inspection.outside.tolist() == [[0, 0, 1]]
    assert outcome.inspection.worst[0, 2] == 1
    assert outcome.social.mean[0].tolist() == pytest.approx([0.0, 0.0, 2.0])  # (5 - 1) / 2, whatever stds they claim
    assert outcome.social.std[0, 2].item() == pytest.approx(STD_MIN, rel=0.01)
    inspected = rule.step(receivers(None), sent, torch.ones(1, 3, dtype=torch.bool), rule.init(1, 3, sent.weights))
    assert not inspected.inspection.trusted.any()


def test_bayp2pfl_averages_certain_weights() -> None:
    certain = torch.tensor([False, True])
    sent = Belief(torch.tensor([[1.0, 5.0], [2.0, -1.0]]), torch.tensor([[-3.0, -13.0], [-3.0, 4.0]]))
    rule = RULES["bayp2pfl"]()
    at = Receivers(Belief.constant(torch.zeros(1, 2), 0.1), 0, 1, certain=certain)
    outcome = rule.step(at, sent, torch.ones(1, 2, dtype=torch.bool), rule.init(1, 2, sent.weights))
    assert outcome.social.mean[0].tolist() == pytest.approx([1.5, 2.0])


def digits() -> Federation:
    made = DATASETS["digits"]()
    cuts = [(made.inputs[at : at + 50], made.labels[at : at + 50]) for at in range(0, 200, 50)]
    return federation(cuts, (made.inputs[200:400], made.labels[200:400]))


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Flatten(), nn.Linear(64, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 10)
    )


def experiment(**changes: object) -> Experiment:
    plain = {
        "rounds": 30,
        "learn": {"learning_rate": 0.01},
        "rule": {"name": "surefed", "kappa": 60.0},
        "evaluate": {"every": 10},
    }
    return Experiment.of(plain | changes)


def test_a_run_with_batch_norm_and_dropout_learns_and_resumes_bit_for_bit(tmp_path: Path) -> None:
    def interrupt(round: int, figures: object) -> None:
        if round == 16:
            os.kill(os.getpid(), signal.SIGINT)

    whole = run(experiment(), data=digits(), model=network(), out=tmp_path / "whole")
    with pytest.raises(Interrupted):
        run(experiment(), data=digits(), model=network(), out=tmp_path / "broken", watch=interrupt)
    run(experiment(), data=digits(), model=network(), out=tmp_path / "broken", resume=True)
    for name in ("rounds.jsonl", "checkpoint.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "broken" / name).read_bytes()
    assert whole.accuracy > 0.5


@pytest.mark.parametrize("rule", ["zeno", "ubar", "krum"])
def test_other_rules_run_with_batch_norm(rule: str) -> None:
    setup = assemble(experiment(rule={"name": rule}), data=digits(), model=network())
    world = begin(setup)
    for _ in range(2):
        play_round(setup, world)
    assert world.rows.mean.isfinite().all()


def test_everybody_predicts_with_its_own_statistics() -> None:
    setup = assemble(experiment(), data=digits(), model=network())
    world = begin(setup)
    play_round(setup, world)
    inputs = setup.clean.test_inputs
    seen = predictions(setup, world, "local", inputs)
    rows = world.rows[4:8]
    assert torch.equal(seen, predict(setup.network, rows.belief(), inputs, buffers=rows.buffers))
    mixed = predict(setup.network, rows.belief(), inputs, buffers=rows.buffers.flip(0))
    assert not torch.allclose(seen, mixed, atol=1e-4)
