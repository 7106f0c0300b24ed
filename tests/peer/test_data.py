"""A site's samples are read as the charter has them, and cut as the simulator cuts them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from surefed.core import DataError
from surefed.data import Dataset
from surefed.peer.data import alone, own_data
from surefed.peer.settings import Data
from surefed.sim.assemble import assemble
from surefed.sim.experiment import Experiment
from tests.peer.federations import Trial, trial


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return trial(tmp_path_factory.mktemp("federation"))


def arrays(count: int = 40, **change: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    values = {"inputs": rng.random((count, 1, 8, 8), dtype=np.float32), "labels": rng.integers(0, 10, count)}
    return values | change


def test_an_own_share_is_held_out_as_in_the_simulator(made: Trial) -> None:
    owner = np.repeat(np.arange(3), 40)
    data = Dataset(**arrays(120), classes=10, owner=owner, owners=("anna", "bert", "cleo"))
    plan = Experiment.of({"data": {"name": "tests.peer.test_data:given", "partition": "natural"}})
    whole = assemble(plan).clean
    for at, site in enumerate(whole.ids):
        mine = alone(data, made.charter, site, held_out=0.2)
        first, size = int(whole.starts[at]), int(whole.sizes[at])
        assert size == 32  # a fifth of 40 is held out
        assert torch.equal(mine.inputs, whole.inputs[first : first + size])
        assert torch.equal(mine.labels, whole.labels[first : first + size])


def given() -> Dataset:
    return Dataset(**arrays(120), classes=10, owner=np.repeat(np.arange(3), 40), owners=("anna", "bert", "cleo"))


def test_the_test_part_of_the_data_is_what_is_held_out(made: Trial, tmp_path: Path) -> None:
    values = arrays()
    np.savez(tmp_path / "data.npz", **values, test=np.arange(40) >= 30)
    mine = own_data(Data(name="npz", path=str(tmp_path / "data.npz")), made.charter, "anna")
    assert torch.equal(mine.inputs, torch.from_numpy(values["inputs"][:30]))
    assert torch.equal(mine.test_labels, torch.from_numpy(values["labels"][30:]))


def test_a_site_may_lack_classes(made: Trial, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", **arrays(labels=np.repeat([2, 7], 20)))
    mine = own_data(Data(name="npz", path=str(tmp_path / "data.npz")), made.charter, "anna")
    assert mine.classes == 10
    assert set(mine.labels.tolist()) == {2, 7}


def loader(*, site: str, count: int = 40) -> tuple[Any, Any]:
    values = arrays(count)
    return values["inputs"], np.full(count, len(site))


def test_a_loader_of_ones_own_gives_arrays(made: Trial) -> None:
    mine = own_data(Data(name="tests.peer.test_data:loader", count=20), made.charter, "anna")
    assert len(mine.labels) + len(mine.test_labels) == 20
    assert set(mine.labels.tolist()) == {4}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"inputs": np.zeros((40, 1, 9, 8), dtype=np.float32)}, "charter says"),
        ({"labels": np.full(40, 10)}, "0 .. 9"),
        ({"labels": np.full(40, 0.5)}, "whole numbers"),
        ({"inputs": np.full((40, 1, 8, 8), np.nan, dtype=np.float32)}, "NaN"),
        ({"test": np.ones(40, dtype=bool)}, "nothing to train on"),
    ],
)
def test_what_does_not_fit_the_charter_is_refused(
    made: Trial, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    np.savez(tmp_path / "data.npz", **arrays(**change))
    with pytest.raises(DataError, match=said):
        own_data(Data(name="npz", path=str(tmp_path / "data.npz")), made.charter, "anna")
