from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributions import Normal
from torch.nn import functional as F

from surefed.core import Belief, ConfigError, DataError, Stream
from surefed.data import Federation, federation
from surefed.learn import Categorical, Gaussian, Network, predict
from surefed.learn.likelihood import WORST
from surefed.sim import Experiment, run
from surefed.sim.assemble import assemble


def test_the_energy_is_the_mean_loss_summed_over_rows(rng: torch.Generator) -> None:
    outputs = torch.randn(3, 5, 4, generator=rng)
    classes = torch.randint(0, 4, (3, 5), generator=rng)
    by_row = sum(F.cross_entropy(outputs[row], classes[row]) for row in range(3))
    assert Categorical().energy(outputs, classes).item() == pytest.approx(float(by_row), rel=1e-6)
    labels = torch.randn(3, 5, 4, generator=rng)
    density = -Normal(outputs, 0.3).log_prob(labels).sum(-1).mean(1).sum()
    assert Gaussian(0.3).energy(outputs, labels).item() == pytest.approx(density.item(), rel=1e-6)
    learned = torch.cat([outputs, torch.full_like(outputs, math.log(0.3))], dim=-1)
    assert Gaussian(None).energy(learned, labels).item() == pytest.approx(density.item(), rel=1e-6)


def test_figures_worked_by_hand() -> None:
    predicted = torch.tensor([[[1.0, 0.5], [2.0, 0.5], [6.0, 0.5]], [[math.nan, 1.0], [2.0, 1.0], [3.0, 1.0]]])
    labels = torch.tensor([[1.0], [3.0], [5.0]])  # mean 3, variance (4 + 0 + 4) / 3
    figures = Gaussian().figures(predicted, labels)
    # errors 0, -1, 1: the mean square is 2 / 3, a quarter of the variance
    assert figures["rmse"].values[0].item() == pytest.approx(math.sqrt(2 / 3))
    assert figures["r2"].values[0].item() == pytest.approx(0.75)
    assert (figures["rmse"].better, figures["r2"].better) == ("lower", "higher")
    assert Gaussian().marks(predicted, labels)[0].tolist() == [0.0, -1.0, -1.0]
    # -log N(3; 2, 0.5) = 2 + log 0.5 + log(2 pi) / 2
    assert Gaussian().losses(predicted, labels)[0, 1].item() == pytest.approx(
        2 + math.log(0.5) + 0.5 * math.log(math.tau)
    )
    ruined = [figures["rmse"].values[1], figures["r2"].values[1], Gaussian().losses(predicted, labels)[1, 0]]
    assert all(math.isfinite(float(value)) for value in ruined)
    assert float(ruined[2]) == pytest.approx(WORST)


def test_a_mixture_has_the_variance_of_its_parts_and_of_their_means() -> None:
    # means 1 and 3, noise 0.5: mean 2, variance 0.25 + 1
    drawn = [torch.full((1, 1, 1), value) for value in (1.0, 3.0)]
    assert Gaussian(0.5).predictive(drawn)[0, 0].tolist() == pytest.approx([2.0, math.sqrt(1.25)])
    far = [torch.full((1, 1, 1), 1e4 + value) for value in (-0.1, 0.1)]  # no cancellation
    assert Gaussian(0.01).predictive(far)[0, 0, 1].item() == pytest.approx(math.sqrt(0.0101), rel=0.01)


def test_learned_noise_is_one_more_weight_per_target(rng: torch.Generator) -> None:
    network = Network(nn.Linear(3, 2), Gaussian(None), 2)
    assert network.weights == 8 + 2
    assert network.names[-1] == "1.log_noise"
    assert network._plan is not None
    network.check(torch.zeros(4, 3), 2)
    mean = torch.cat([network.initial()[:8], torch.tensor([0.5, -1.0])])[None]
    inputs = torch.randn(4, 3, generator=rng)
    predicted = predict(network, Belief(mean, torch.zeros_like(mean)), inputs)
    plain = inputs @ mean[0, :6].view(2, 3).T + mean[0, 6:8]
    assert torch.allclose(predicted[0, :, :2], plain, atol=1e-6)
    assert torch.allclose(predicted[0, :, 2:], torch.tensor([0.5, -1.0]).exp().expand(4, 2))
    noise = Stream(0, "draws", range(1))
    assert predict(network, Belief(mean, torch.zeros_like(mean)), inputs, draws=3, noise=noise).shape == (1, 4, 4)


@pytest.mark.parametrize("noise", [1.0, None])
def test_a_model_with_another_number_of_outputs_is_refused(noise: float | None) -> None:
    with pytest.raises(DataError, match=r"returns shape \(3,\).*has 2 targets: it must return 2 numbers"):
        Network(nn.Linear(4, 3), Gaussian(noise), 2).check(torch.zeros(7, 4), 2)


def lines(clients: int = 4, targets: int = 1) -> Federation:
    """y = 2 x0 - x1 + 1 + noise of std 0.5, and for a second target its negative."""
    rng = np.random.default_rng(0)

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        inputs = rng.normal(size=(count, 2)).astype(np.float32)
        labels = inputs @ np.array([2.0, -1.0]) + 1 + 0.5 * rng.normal(size=count)
        return inputs, np.stack([labels, -labels], axis=1)[:, :targets].astype(np.float32)

    pairs, (inputs, labels) = [draw(60) for _ in range(clients)], draw(400)
    made = federation([(x, np.arange(len(x)) % 2) for x, _ in pairs], (inputs, np.arange(400) % 2))
    numbers = torch.from_numpy(np.concatenate([y for _, y in pairs]))
    return dataclasses.replace(made, labels=numbers, test_labels=torch.from_numpy(labels), classes=0)


def regression(**changes: object) -> Experiment:
    plain = {
        "rounds": 60,
        "model": {"name": "linear"},
        "learn": {"learning_rate": 0.03, "noise": "learned", "rho": -2.0},
        "rule": {"name": "surefed", "kappa": 40.0},
        "evaluate": {"every": 20},
    }
    return Experiment.of(plain | changes)


@pytest.mark.parametrize("targets", [1, 2])
def test_a_federation_learns_a_line_and_its_noise(tmp_path: Path, targets: int) -> None:
    result = run(regression(evaluate={"every": 20, "draws": 2}), data=lines(targets=targets), out=tmp_path / "run")
    last = result.record.last
    assert "accuracy" not in last
    assert {"rmse", "r2", "loss", "local_rmse", "local_r2", "rmse_of_draws"} <= set(last)
    assert last["rmse"]["worst"] >= last["rmse"]["mean"]
    assert last["rmse"]["mean"] == pytest.approx(0.5, abs=0.06)
    assert last["r2"]["mean"] > 0.9  # the variance is 4 + 1 + 0.25, of which 0.25 cannot be explained
    weights = result.beliefs.mean[0]
    assert weights[:2].tolist() == pytest.approx([2.0, -1.0], abs=0.15)
    assert weights[-targets:].exp().tolist() == pytest.approx([0.5] * targets, abs=0.1)
    assert result.record.trust(60)["rmse"].shape == (4,)


def test_labels_may_have_one_axis() -> None:
    data = lines()
    flat = dataclasses.replace(data, labels=data.labels[:, 0], test_labels=data.test_labels[:, 0])
    setup = assemble(regression(), data=flat)
    assert setup.clean.labels.shape == (240, 1)
    assert isinstance(setup.network.likelihood, Gaussian)


@pytest.mark.parametrize("rule", ["zeno", "ubar", "fedavg"])
def test_other_rules_take_numbers_too(tmp_path: Path, rule: str) -> None:
    plain = {"batches": 2, "early_stop": 0, "noise": 0.5}
    result = run(
        regression(rule={"name": rule}, learn=plain, rounds=6, attack={"name": "sign_flip", "malicious": 0.25}),
        data=lines(),
        out=tmp_path / "run",
    )
    assert math.isfinite(result.record.last["rmse"]["mean"])


def test_early_stopping_looks_at_squared_errors(tmp_path: Path) -> None:
    learn = {"learning_rate": 0.3, "early_stop": 1, "held_out": 0.2, "noise": 0.5}
    result = run(regression(learn=learn), data=lines(), out=tmp_path / "run")
    assert result.record.last["local_learning"] < 4


@pytest.mark.parametrize("attack", ["label_flip", "trojan"])
def test_attacks_on_classes_are_refused(attack: str) -> None:
    with pytest.raises(ConfigError, match=f"{attack}' changes classes"):
        assemble(regression(attack={"name": attack, "malicious": 0.25}), data=lines())


@pytest.mark.parametrize("noise", [0.0, -1.0, "loud"])
def test_noise_is_a_positive_number_or_learned(noise: object) -> None:
    with pytest.raises(ConfigError, match=r"learn\.noise"):
        regression(learn={"noise": noise})
