from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from surefed.core import ConfigError, IdentityError
from surefed.data import federation
from surefed.peer.charter import Draft, built, check_built
from surefed.peer.identity import read_members
from surefed.peer.lone import experiment
from surefed.sim.assemble import assemble

from ..made import TERMS, made

OWN = """
from torch import nn

def net(shape, classes):
    return nn.Sequential(nn.Linear(shape[0], 4), nn.Tanh(), nn.Linear(4, classes))
"""


def charter(**changes: Any) -> Any:
    members = read_members(made().folder / "authority" / "members.json")
    return Draft.of(TERMS | changes).charter(members, made().charter.authority)


def test_the_network_is_the_one_that_a_peer_starts_from() -> None:
    agreed = made().charter
    data = federation([(torch.rand(5, 5), [0, 1, 2, 0, 1])], test=(torch.rand(3, 5), [0, 1, 2]))
    start = assemble(experiment(agreed), data=data).network
    assert (start.weights, start.fingerprint()) == (agreed.weights, agreed.model_digest)
    assert start.weights == 18


def test_equal_terms_give_equal_charters_and_another_seed_other_weights() -> None:
    assert charter().digest == made().charter.digest
    assert charter(seed=8).model_digest != made().charter.model_digest
    assert charter(rounds=7).model_digest == made().charter.model_digest


def test_numbers_instead_of_classes() -> None:
    agreed = charter(classes=0, targets=2, learn={"noise": "learned"})
    assert agreed.weights == 6 * 2 + 2  # and the noise of each of two targets
    check_built(agreed)


def test_early_stopping_and_halves_are_kept() -> None:
    agreed = charter(learn={"early_stop": 3, "held_out": 0.9}, rule={"name": "surefed", "kappa": "auto"})
    assert agreed.learn.early_stop == 3
    assert agreed.rule.options["kappa"] == "auto"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"round": 5}, "unknown key 'round'; did you mean 'rounds'"),
        ({"learn": {"lerning_rate": 1}}, "unknown key 'learn.lerning_rate'; did you mean 'learning_rate'"),
        ({"rule": {"name": "surefde"}}, "did you mean 'surefed'"),
        ({"rule": {"name": "surefed", "kapa": 1}}, "has no option 'kapa'; did you mean 'kappa'"),
        ({"rule": {"name": "oracle"}}, "must be told who is honest"),
        ({"model": {"name": "nothing:here"}}, "cannot import 'nothing'"),
        ({"graph": {"name": "rign"}}, "did you mean 'ring'"),
        ({"rounds": 0}, "rounds: input should be greater than or equal to 1"),
        ({"members": ["north", "north"]}, "members: every site is named once"),
        ({"members": []}, "members:"),
        ({"shape": []}, "shape:"),
        ({"shape": [0]}, "shape:"),
        ({"name": "two\nlines"}, "name: a name is one line of text"),
        ({"approvals": 5}, "5 signatures cannot come from 4 founders"),
        ({"deadline": 1e9}, "deadline:"),
        ({"chunk": 10}, "chunk:"),
        ({"model": {"name": "linear", "x": float("inf")}}, "has no option 'x'"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        charter(**changes)
    assert message in str(error.value)


def test_what_has_no_default_must_be_said() -> None:
    with pytest.raises(ConfigError, match="rounds is not set, and has no default"):
        Draft.of({key: value for key, value in TERMS.items() if key != "rounds"})


def test_members_must_be_approved() -> None:
    with pytest.raises(IdentityError, match="no keys of centre were approved"):
        charter(members=["north", "centre"])


def test_the_model_here_must_be_the_charters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "their_model.py").write_text(OWN)
    agreed = charter(model={"name": "their_model:net"})
    check_built(agreed)
    with pytest.raises(IdentityError, match="has 39 weights here, and 40 in the charter"):
        check_built(agreed.changed(weights=40))  # 6 * 4 + 5 * 3 = 39
    with pytest.raises(IdentityError, match="its layers, its code or the weights it starts from are not"):
        check_built(agreed.changed(model_digest="0" * 32))


def test_a_graph_file_is_held_to_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    edges = tmp_path / "edges.csv"
    edges.write_text("0,1\n1,2\n2,3\n")
    agreed = charter(graph={"name": "file", "path": "edges.csv"})
    check_built(agreed)
    edges.write_text("0,1\n1,2\n2,3\n3,0\n")
    with pytest.raises(IdentityError, match="the graph 'file' is another here"):
        check_built(agreed)
    assert charter(graph={"name": "ring"}).graph_digest != made().charter.graph_digest


def test_a_file_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "federation.toml"
    with pytest.raises(ConfigError, match="surefed federation init"):
        Draft.read(path)
    path.write_text("name = ")
    with pytest.raises(ConfigError, match="not valid TOML"):
        Draft.read(path)
    path.write_text('name = "x"\nmembers = ["a"]\nshape = [3]\nclasses = 2\nrounds = 4\n[model]\nname = "linear"\n')
    draft = Draft.read(path)
    assert draft.model.name == "linear"
    assert built(draft)[1].weights == 8  # (3 + 1) * 2


def test_values_that_a_charter_cannot_hold_are_refused() -> None:
    with pytest.raises(ConfigError):
        charter(rule={"name": "surefed", "kappa": float("inf")})
