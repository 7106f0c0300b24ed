from __future__ import annotations

import runpy
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import surefed
from surefed.attacks.base import Trigger
from surefed.core import ConfigError
from surefed.data import DATASETS, Dataset
from surefed.models.base import Normalise
from surefed.rules import RULES
from surefed.sim import Experiment, toml
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round
from surefed.sim.metrics import evaluate
from surefed.sim.resolve import resolve

ROOT = Path(__file__).parents[2]
HERE = f"{__name__}:"


def writers(count: int = 6, samples: int = 30, flat: float = 0.75) -> Dataset:
    """Dark strokes on a background of 1, with an owner and a published cut; the corner tells the class."""
    owner = np.repeat(np.arange(count), samples)
    labels = np.arange(count * samples) % 3
    inputs = np.full((len(labels), 1, 8, 8), 255, dtype=np.uint8)
    inputs[np.arange(len(labels)), 0, 0, labels] = 0
    names = tuple(f"writer {at}" for at in range(count))
    return Dataset(inputs, labels, 3, owner, names, np.arange(len(labels)) % 5 == 4, 1.0, (flat,), (0.5,))


def strangers() -> Dataset:
    return Dataset(np.zeros((60, 4), np.float32), np.arange(60) % 2, 2)


def built(data: dict[str, Any], **more: Any) -> Any:
    return assemble(Experiment.of({"data": data, "model": {"name": "linear"}, **more}))


def test_the_experiment_of_a_run_says_all_that_the_data_decided() -> None:
    section = built({"name": f"{HERE}writers", "samples": 20}).experiment.data
    assert (section.partition, section.clients, section.test, section.background) == ("natural", 6, "published", 1.0)
    assert section.partition_options == {"min_samples": 1, "largest": False}
    assert section.options == {"samples": 20}
    plain = built({}).experiment.data
    assert (plain.partition, plain.clients, plain.test, plain.background) == ("iid", 20, "cut", 0.0)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"partition": "dirichlet", "clients": 6, "min_samples": 5},
        {"name": f"{HERE}writers"},
        {"name": f"{HERE}writers", "clients": 4, "test": "cut", "invert": True, "normalise": True},
        {"name": f"{HERE}writers", "partition": "by_size", "clients": 4, "partition_options": {"exponent": 0.5}},
        {"name": f"{HERE}strangers", "clients": 3, "background": 0.25},
    ],
)
def test_what_was_decided_read_back_is_the_same_run(tmp_path: Path, data: dict[str, Any]) -> None:
    once = built(data)
    (tmp_path / "e.toml").write_text(toml.write(once.experiment))
    again = assemble(Experiment.read(tmp_path / "e.toml"))
    assert again.experiment == once.experiment
    assert again.identity == once.identity


def test_clients_of_a_natural_partition_bear_their_names() -> None:
    setup = built({"name": f"{HERE}writers", "clients": 2, "partition_options": {"largest": True}})
    assert set(setup.clean.ids) <= {f"writer {at}" for at in range(6)}
    assert setup.clean.sizes.tolist() == [24, 24]
    assert len(setup.clean.test_labels) == 12
    attack = {"name": "label_flip", "clients": ["writer 3"]}
    assert built({"name": f"{HERE}writers"}, attack=attack).malicious.tolist() == [False] * 3 + [True] + [False] * 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"clinets": 5}, "unknown key 'data.clinets'.*the dataset 'digits'; did you mean 'clients'"),
        ({"name": "folder", "pth": "here"}, "unknown key 'data.pth'.*did you mean 'path'"),
        ({"name": f"{HERE}writers", "smaples": 5}, "no option 'smaples'; did you mean 'samples'"),
        ({"name": f"{HERE}writers", "partitoin": "iid"}, "no option 'partitoin'; did you mean 'partition'"),
        ({"partition_options": {"alpha": 1.0}}, "the partition 'iid' has no option 'alpha'"),
        (
            {"partition": "dirichlet", "min_samples": 5, "partition_options": {"min_samples": 4}},
            "data.min_samples and data.partition_options.min_samples differ",
        ),
        ({"normalise": True}, "data.normalise needs to know what the inputs of 'digits' are normalised by"),
        ({"min_samples": 80}, "fewer than min_samples = 80; use fewer clients"),
        ({"name": f"{HERE}writers", "clients": 2, "min_samples": 25}, "0 of the 6 natural clients"),
    ],
)
def test_what_is_wrong_with_a_section_is_told(data: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        built(data)


def test_a_misspelt_key_is_told_even_if_the_data_is_given() -> None:
    data = surefed.federation([(np.eye(4), [0, 1, 0, 1])] * 8, (np.eye(4), [0, 1, 0, 1]))
    with pytest.raises(ConfigError, match="did you mean 'clients'"):
        assemble(Experiment.of({"data": {"clinets": 5}}), data=data)


@pytest.mark.parametrize("test", ["somewhere", 3])
def test_values_out_of_range_are_named(test: object) -> None:
    with pytest.raises(ConfigError, match=r"data\.test"):
        Experiment.of({"data": {"test": test}})
    with pytest.raises(ConfigError, match=r"data\.min_samples"):
        Experiment.of({"data": {"min_samples": 0}})


def test_a_minimum_is_the_same_wherever_it_is_written() -> None:
    one = built({"partition": "dirichlet", "clients": 6, "min_samples": 5})
    other = built({"partition": "dirichlet", "clients": 6, "partition_options": {"min_samples": 5}})
    assert one.identity == other.identity
    assert one.experiment.data.partition_options["min_samples"] == 5


def test_options_of_another_dataset_are_forgotten() -> None:
    base = Experiment.of({"data": {"name": "folder", "path": "here", "clients": 3}})
    assert base.change(["data.name=digits"]).data == Experiment.of({"data": {"name": "digits", "clients": 3}}).data


def test_every_default_is_written_out() -> None:
    section = resolve(Experiment.of({"data": {"name": "folder", "partition": "shards"}}), RULES["surefed"]()).data
    assert section.options == {"label": "label", "numbers": False}
    assert section.partition_options == {"per_client": 2, "min_samples": 1}


def stamped(**data: Any) -> Any:
    attack = {"name": "trojan", "malicious": 0.5}
    return built({"name": f"{HERE}writers", **data}, attack=attack)


@pytest.mark.parametrize(("invert", "background"), [(False, 1.0), (True, 0.0)])
def test_triggers_are_the_opposite_of_the_datasets_background(invert: bool, background: float) -> None:
    setup = stamped(invert=invert)
    assert setup.clean.background == background
    changed = setup.poisoned[0] != setup.clean.inputs
    assert changed.any()
    assert setup.poisoned[0][changed].unique().tolist() == [1.0 - background]
    assert stamped(invert=invert, background=0.25).poisoned[0][changed].unique().tolist() == [0.75]


def test_the_backdoor_is_measured_against_the_background() -> None:
    seen = []

    def stamp(inputs: torch.Tensor, background: float) -> torch.Tensor:
        seen.append(background)
        return inputs

    setup = stamped()
    spied = replace(setup, attack=replace(setup.attack, trigger=Trigger(stamp, 0)))
    world = begin(spied)
    evaluate(spied, world, play_round(spied, world, detail=True))
    assert set(seen) == {1.0}


def test_an_option_of_a_dataset_does_not_hide_a_field_of_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def pictures(*, invert: bool = False) -> Dataset:
        return writers()

    monkeypatch.setitem(DATASETS, "pictures", pictures)
    assert built({"name": "pictures", "invert": True}).experiment.data.invert
    assert built({"name": "pictures", "invert": True}).clean.background == 0.0


def test_the_background_of_given_data_is_kept_or_changed() -> None:
    data = surefed.federation([(np.eye(4), [0, 1, 0, 1])] * 8, (np.eye(4), [0, 1, 0, 1]))
    learn = {"learn": {"batch_size": 2}}
    assert assemble(Experiment.of(learn), data=data).clean.background == 0.0
    setup = assemble(Experiment.of(learn | {"data": {"background": 1.0}}), data=data)
    assert setup.clean.background == setup.experiment.data.background == 1.0


def test_the_network_normalises_and_triggers_are_stamped_before() -> None:
    plain, normal = stamped(), stamped(normalise=True)
    assert torch.equal(plain.poisoned[0], normal.poisoned[0])  # data stays in 0 .. 1
    layer, net = normal.network.module
    assert isinstance(layer, Normalise)
    assert normal.network.weights == plain.network.weights
    assert torch.equal(normal.network.initial(), plain.network.initial())
    inputs = normal.clean.test_inputs[:3]
    flat = normal.network.initial()[None]
    outputs = normal.network.apply(normal.network.split(flat), inputs[None])[0]
    assert torch.allclose(outputs, net((inputs - 0.75) / 0.5), atol=1e-6)
    inverted = stamped(normalise=True, invert=True).network.module[0]
    assert inverted.mean.tolist() == [0.25]
    assert normal.identity != stamped(normalise=True, flat=0.5).identity


def test_the_example_of_own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    example = ROOT / "examples" / "own_data.py"
    quick = example.read_text().replace("rounds=400", "rounds=3")
    assert quick != example.read_text()
    (tmp_path / "own_data.py").write_text(quick)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_data", raising=False)
    runpy.run_path("own_data.py", run_name="__main__")
    assert "accuracy of the honest clinics" in capsys.readouterr().out
    (record,) = surefed.report.find([tmp_path / "runs"])
    assert record.run["clients"] == [f"clinic {at}" for at in range(8)]
    assert record.experiment["data"]["partition"] == "natural"
