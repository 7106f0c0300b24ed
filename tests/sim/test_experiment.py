from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefed.core import ConfigError
from surefed.rules import RULES
from surefed.sim import Experiment, toml
from surefed.sim.assemble import assemble
from surefed.sim.resolve import resolve


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"round": 5}, "unknown key 'round'; did you mean 'rounds'"),
        ({"learn": {"learing_rate": 0.1}}, "unknown key 'learn.learing_rate'; did you mean 'learning_rate'"),
        ({"attack": {"name": "label_flip", "malicious": 1.0}}, "attack.malicious: input should be less than 1"),
        ({"attack": {"malicious": -0.1}}, "attack.malicious"),
        ({"rounds": 0}, "rounds: input should be greater than or equal to 1"),
        ({"data": {"clients": "many"}}, "data.clients"),
        ({"learn": {"kind": "bayes"}}, "'auto', 'variational', 'ivon' or 'point'"),
        ({"name": "two\nlines"}, "name: a name is one line"),
        ({"name": "bell\x7f"}, "one line"),
        ({"rule": "surefed"}, "rule is a table.*did you mean rule.name = 'surefed'"),
        ({"data": {"clients": True}}, "data.clients"),
        ({"rounds": "5"}, "rounds: input should be a valid integer, not '5'"),
        ({"seed": 2**63}, "seed"),
        ({"attack": {"malicious": 40}}, "a share of the clients, such as 0.4"),
        ({"attack": {"clients": 3}}, "a list, such as"),
        ({"learn": {"learning_rate": math.inf}}, "learn.learning_rate"),
        ({"learn": {"learning_rate": 1e9}}, "learn.learning_rate"),
        ({"learn": {"prior_std": 1e-20}}, "learn.prior_std"),
        ({"learn": {"kl_scale": math.nan}}, "learn.kl_scale"),
    ],
)
def test_bad_values_are_named_with_a_way_out(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Experiment.of(values)
    with pytest.raises(ConfigError, match=message):
        Experiment(**values)


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        Experiment.of({"seed": -1, "rounds": 0, "ruel": {}})
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rule": {"name": "surefd"}}, "there is no rule 'surefd'; did you mean 'surefed'"),
        ({"attack": {"name": "label_flp"}}, "there is no attack 'label_flp'; did you mean 'label_flip'"),
        ({"rule": {"name": "surefed", "kapa": 3}}, "no option 'kapa'; did you mean 'kappa'"),
        ({"rule": {"name": "bayp2pfl", "kappa": 3}}, "it has no options"),
        ({"rule": {"name": "bayp2pfl", "befor": "nnm"}}, "did you mean 'before'"),
        ({"attack": {"name": "alie", "knowlege": "own_data"}}, "did you mean 'knowledge'"),
        ({"rule": {"name": "surefed", "kappa": "wide"}}, "option 'kappa'"),
        ({"model": {"name": "mpl"}}, "there is no model 'mpl'"),
        ({"model": {"name": "torch.nn:Linear"}}, "cannot build the model 'torch.nn:Linear'"),
        ({"data": {"name": "digit"}}, "there is no dataset 'digit'"),
        ({"data": {"partition": "idd"}}, "there is no partition 'idd'"),
        ({"graph": {"name": "networkx:cycle_graph", "m": 3}}, "cannot build the graph"),
        ({"graph": {"name": "networkx:cycel_graph"}}, "has no 'cycel_graph'.*did you mean 'cycle_graph'"),
        ({"model": {"name": "math:pi"}}, "cannot build the model 'math:pi'"),
        ({"rule": {"name": "math:pi"}}, "the rule 'math:pi' is not a function"),
        ({"rule": {"name": "builtins:print"}}, "the rule 'builtins:print'"),
        ({"attack": {"name": "surefed.rules.surefed:surefed"}}, "gives a Rule, not a Attack"),
        ({"data": {"name": "surefed.rules.surefed:surefed"}}, "gives a Rule, not a Dataset"),
        ({"model": {"name": "cnn", "hidden": -1}}, "the model 'cnn'"),
        ({"data": {"clients": 1}, "attack": {"name": "label_flip"}}, "is nobody"),
        ({"rule": {"name": "surefed"}, "learn": {"kind": "point"}}, 'set learn.kind to "variational"'),
        ({"attack": {"name": "label_flip", "clients": ["77"]}}, "names '77', which is no client"),
        ({"data": {"name": "given"}}, "run it with surefed.run"),
    ],
)
def test_names_that_lead_nowhere(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        assemble(Experiment.of(values))


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="cannot use the device 'gpu'"):
        assemble(Experiment.of({}), device="gpu")


def test_settings_change_values_and_forget_options_of_another_name() -> None:
    base = Experiment.of({"rule": {"name": "surefed", "kappa": 4.0}, "attack": {"name": "gaussian", "scale": 2.0}})
    assert base.change(["rule.kappa=3.5", "seed=7"]).rule.options == {"kappa": 3.5}
    assert base.change(["rule.name=bayp2pfl"]).rule.options == {}
    assert base.change(["rule.name=surefed"]).rule.options == {"kappa": 4.0}
    default = Experiment.of({"rule": {"kappa": 4.0}})  # of the rule that is named by default
    assert default.change(["rule.name=surefed"]).rule.options == {"kappa": 4.0}
    assert default.change(["rule.name=bayp2pfl"]).rule.options == {}
    changed = base.change(["attack.malicious=0.2", "attack.name=label_flip"]).attack
    assert (changed.options, changed.malicious) == ({}, 0.2)
    assert base.change(["data.partition_options={alpha = 0.1}"]).data.partition_options == {"alpha": 0.1}
    assert base.change(["model.hidden=[8, 4]"]).model.options == {"hidden": [8, 4]}
    assert base.change(["rule.kappa=inf"]).rule.options == {"kappa": math.inf}
    for setting in ("rule.kappa", "=3", "rule.name.x=3"):
        with pytest.raises(ConfigError, match="--set"):
            base.change([setting])


def test_a_file_reads_back_as_it_was_written(tmp_path: Path) -> None:
    given = Experiment.of(
        {
            "name": 'with "quotes" and ü',
            "rule": {"name": "surefed", "kappa": math.inf},
            "data": {"partition": "dirichlet", "partition_options": {"alpha": 0.3}},
            "attack": {"name": "label_flip", "clients": ["3", "1"]},
        }
    )
    for experiment in (given, resolve(given, RULES["surefed"]())):
        for comments in (False, True):
            (tmp_path / "e.toml").write_text(toml.write(experiment, comments=comments))
            assert Experiment.read(tmp_path / "e.toml") == experiment
            assert Experiment.read(tmp_path / "e.toml").digest() == experiment.digest()


def test_the_commented_file_explains_every_field() -> None:
    text = toml.write(Experiment.of({}), comments=True)
    for name, field in Experiment.model_fields.items():
        section = field.annotation
        for inner, about in getattr(section, "model_fields", {name: field}).items():
            assert about.description, f"{name}.{inner} has no docstring"
            assert about.description.split()[0] in text


@pytest.mark.parametrize(
    ("text", "message"), [("rounds = ", "not valid TOML"), (None, "there is no file"), (b"\xff\xfe", "cannot read")]
)
def test_files_that_cannot_be_read(tmp_path: Path, text: str | bytes | None, message: str) -> None:
    path = tmp_path / "e.toml"
    if isinstance(text, bytes):
        path.write_bytes(text)
    elif text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        Experiment.read(path)


@given(st.integers(0, 100), st.floats(0, 0.99))
def test_the_digest_knows_values_not_spelling(seed: int, share: float) -> None:
    one = Experiment.of({"seed": seed, "rule": {"name": "surefed", "kappa": 14}, "attack": {"malicious": share}})
    other = Experiment.of({"seed": seed, "rule": {"name": "surefed", "kappa": 14.0}, "attack": {"malicious": share}})
    assert one.digest() == other.digest()
    assert one.digest() == one.model_copy(update={"name": "another name", "checkpoint_every": 7}).digest()
    assert one.digest() != one.change([f"seed={seed + 1}"]).digest()


def test_the_same_clients_are_malicious_whatever_the_rule() -> None:
    masks = [
        assemble(Experiment.of({"rule": {"name": rule}, "attack": {"name": attack}})).malicious
        for rule in ("surefed", "local_only")
        for attack in ("label_flip", "gaussian")
    ]
    assert all(torch.equal(masks[0], mask) for mask in masks)
    assert masks[0].sum() == 8
    assert assemble(Experiment.of({"attack": {"name": "none"}})).malicious.sum() == 0
    almost = Experiment.of({"attack": {"name": "label_flip", "malicious": 0.99}})
    assert assemble(almost).malicious.sum() == 19  # somebody stays honest
    named = Experiment.of({"attack": {"name": "label_flip", "clients": ["2", 5]}})
    assert assemble(named).malicious.nonzero().flatten().tolist() == [2, 5]


def test_moments_in_half_the_room_are_another_experiment() -> None:
    plain, half = Experiment.of({}), Experiment.of({"learn": {"moments": "bfloat16"}})
    assert plain.digest() == Experiment.of({"learn": {"moments": "float32"}}).digest() != half.digest()
    with pytest.raises(ConfigError, match="moments"):
        Experiment.of({"learn": {"moments": "float16"}})
