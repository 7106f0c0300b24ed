"""The committed experiments: well formed everywhere, and what they say they are where the data is."""

from __future__ import annotations

from pathlib import Path

import pytest

from surefed.cli.describe import describe_deal
from surefed.core import DataError
from surefed.models import MODELS
from surefed.rules import RULES
from surefed.sim import Experiment
from surefed.sim.data import dealt
from surefed.sim.resolve import resolve

CONFIGS = Path(__file__).parents[1] / "configs"
WEIGHTS = {"mnist_by_writer": 97_982, "femnist_digits": 97_982, "femnist": 104_274, "cifar10": 269_722}


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.stem)
def test_a_committed_experiment_is_well_formed(path: Path) -> None:
    plan = Experiment.read(path)
    rule = RULES[plan.rule.name](**plan.rule.options)
    assert resolve(plan, rule).learn.kind == "variational"
    assert (plan.attack.name, plan.attack.malicious) == ("label_flip", 0.4)


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_papers_settings(name: str) -> None:
    plan = Experiment.read(CONFIGS / f"{name}.toml")
    assert (plan.rounds, plan.data.clients) == (8000, 50)
    assert (plan.learn.batches, plan.learn.batch_size) == (5, 5)
    assert resolve(plan, RULES["surefed"]()).learn.learning_rate == 0.001
    shape, classes = ((3, 32, 32), 10) if name == "cifar10" else ((1, 28, 28), 62 if name == "femnist" else 10)
    module = MODELS[plan.model.name](shape, classes, **plan.model.options)
    assert sum(value.numel() for value in module.parameters()) == WEIGHTS[name]


@pytest.mark.parametrize(
    ("name", "training", "test"),
    [
        # of the whole data; the paper has 101 + 12 and 197 + 22 a client
        ("mnist_by_writer", (90, 110), (10, 12)),
        ("femnist_digits", (100, 110), (11, 13)),
        ("femnist", (140, 160), (15, 18)),
        pytest.param("cifar10", (1000, 1000), (10_000, 10_000), marks=pytest.mark.slow),
    ],
)
def test_on_the_real_data(name: str, training: tuple[int, int], test: tuple[int, int]) -> None:
    plan = Experiment.read(CONFIGS / f"{name}.toml")
    try:
        about = describe_deal(*dealt(plan), plan)
    except DataError as error:
        pytest.skip(str(error))
    assert about["clients"] == 50
    assert about["background"] == 0.0
    assert training[0] <= about["train"]["mean"] <= training[1]
    assert test[0] <= about["test"].get("mean", about["test"]["total"]) <= test[1]
