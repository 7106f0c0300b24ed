from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from surefed.core import ConfigError, DataError, SureFEDError
from surefed.data import Dataset, deal, load
from surefed.data.clients.own import by_client, own_dataset


def pair(count: int = 4, width: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return np.ones((count, width)), np.arange(count) % 2


def test_arrays_by_client_become_a_dataset_with_owners() -> None:
    made = by_client({"ann": pair(4), "bob": pair(6)})
    assert (made.owners, made.classes, made.test) == (("ann", "bob"), 2, None)
    assert made.owner is not None
    assert made.owner.tolist() == [0] * 4 + [1] * 6
    assert made.inputs.dtype == np.float32
    assert {name: len(part) for name, part in deal(made, test_share=0.5).train.items()} == {"ann": 2, "bob": 3}


def test_four_arrays_are_a_training_and_a_test_part() -> None:
    made = by_client({"ann": (*pair(4), *pair(2)), "bob": (*pair(6), *pair(3))})
    assert made.test is not None
    assert made.test.tolist() == [False] * 4 + [True] * 2 + [False] * 6 + [True] * 3
    dealt = deal(made)
    assert dealt.cut == "published"
    assert [len(part) for part in dealt.train.values()] == [4, 6]


def test_bytes_stay_bytes() -> None:
    made = by_client({"a": (np.zeros((2, 3), np.uint8), [0, 1])})
    assert made.inputs.dtype == np.uint8


def test_a_function_gets_its_options_and_is_told_what_it_asks_for() -> None:
    def mine(clients: int, seed: int, width: int = 2) -> list[Any]:
        return [pair(4 + seed, width)] * clients

    made = own_dataset(mine, "mine", {"width": 5}, {"clients": 3, "seed": 1})
    assert made.inputs.shape == (15, 5)
    assert made.owners == ("0", "1", "2")
    assert own_dataset(lambda: {"a": pair()}, "mine", {}, {"clients": 3}).owners == ("a",)
    assert own_dataset({"a": pair()}, "mine", {}, {}).owners == ("a",)
    given = Dataset(*pair(), 2)
    assert own_dataset(lambda: given, "mine", {}, {}) is given
    assert own_dataset(lambda **any: {"a": pair(**any)}, "mine", {"width": 7}, {}).inputs.shape == (4, 7)


def nobody() -> dict[str, Any]:
    return {}


def breaks() -> None:
    raise KeyError("missing.csv")


def refuses() -> None:
    raise DataError("bring the file")


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (lambda width=2: {"a": pair()}, {"widht": 3}, "has no option 'widht'; did you mean 'width'"),
        (lambda: {"a": pair()}, {"partitoin": 3}, "has no option 'partitoin'; did you mean 'partition'"),
        (lambda: 3, {}, "gives a int, not a Dataset: it should give"),
        (nobody, {}, "there are no clients"),
        (lambda: {"a": 3}, {}, "client a: expected"),
        (lambda: {"a": (*pair(), 1)}, {}, "client a: expected"),
        (lambda: {"a": pair(), "b": pair(width=3)}, {}, "client b has inputs of shape"),
        (lambda: {"a": (np.ones((3, 2)), [0, 1])}, {}, "client a: inputs need shape"),
        (lambda: {"a": (np.ones(3), [0, 1, 0])}, {}, "client a: inputs need shape"),
        (lambda: {"a": (np.ones((0, 2)), [])}, {}, "client a has no data"),
        (lambda: {"a": ([["x"]], [0])}, {}, "client a: inputs are not numbers"),
        (lambda: {"a": (np.ones((2, 2)), ["cat", "dog"])}, {}, "client a: labels must be whole"),
        (lambda: {"a": pair(), "b": (np.zeros((2, 2), np.uint8), [0, 1])}, {}, "bytes .* make them alike"),
        (breaks, {}, "cannot build the dataset 'mine': KeyError: 'missing.csv'"),
        (refuses, {}, "^bring the file$"),
    ],
)
def test_functions_that_give_something_else(
    function: Callable[..., Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(SureFEDError, match=message):
        own_dataset(function, "mine", options, {}, fields=["partition"])


def test_names_lead_to_functions(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_sites.py").write_text(
        "import numpy as np\ndef sites(count=3):\n"
        "    return {f's{at}': (np.eye(4), [0, 1, 0, 1]) for at in range(count)}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert load("my_sites:sites", {"count": 2}).owners == ("s0", "s1")
    with pytest.raises(ConfigError, match=r"has no 'site'.*did you mean 'sites'"):
        load("my_sites:site")
