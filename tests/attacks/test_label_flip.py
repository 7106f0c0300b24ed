from __future__ import annotations

import pytest
import torch
from torch import Tensor

from surefed.attacks import ATTACKS
from surefed.core import DataError, Stream


def test_nine_minus_y_for_ten_classes_and_images_stay() -> None:
    inputs, labels = torch.rand(12, 2), torch.arange(12) % 10
    sizes, malicious = torch.tensor([5, 7]), torch.tensor([False, True])
    seen, told = ATTACKS["label_flip"]().corrupt(inputs, labels, sizes, malicious, 10, Stream(0, "poison", range(2)))
    assert told.tolist() == [0, 1, 2, 3, 4, 4, 3, 2, 1, 0, 9, 8]
    assert torch.equal(seen, inputs)
    assert labels.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1], "the clean labels are not written into"


def test_flipping_twice_is_the_truth() -> None:
    labels = torch.arange(62)
    attack, everybody = ATTACKS["label_flip"](), torch.tensor([True])
    stream = Stream(0, "poison", range(1))
    once = attack.corrupt(labels[:, None], labels, torch.tensor([62]), everybody, 62, stream)[1]
    twice = attack.corrupt(labels[:, None], once, torch.tensor([62]), everybody, 62, stream)[1]
    assert not (once == labels).any()
    assert torch.equal(twice, labels)


def told(labels: Tensor, classes: int, **options: object) -> list[int]:
    """What a lone malicious client trains on."""
    attack, everybody, sizes = ATTACKS["label_flip"](**options), torch.tensor([True]), torch.tensor([len(labels)])
    flipped: list[int] = attack.corrupt(
        labels[:, None], labels, sizes, everybody, classes, Stream(0, "poison", range(1))
    )[1].tolist()
    return flipped


def test_pairs_change_their_source_classes_only() -> None:
    assert told(torch.arange(10), 10, mode="pairs", pairs=((0, 2), (5, 3))) == [2, 1, 2, 3, 4, 3, 6, 7, 8, 9]
    assert told(torch.tensor([1, 2, 1]), 3, mode="pairs", pairs=((1, 2), (2, 1))) == [2, 1, 2], "not one after another"


def test_all_to_one() -> None:
    assert told(torch.arange(4), 4, mode="all_to_one") == [0, 0, 0, 0]
    assert told(torch.arange(4), 4, mode="all_to_one", target=3) == [3, 3, 3, 3]


def test_emnist_digits_turn_and_letters_change_their_case() -> None:
    flipped = told(torch.arange(62), 62, mode="rfa_emnist")
    assert flipped[:10] == [1, 8, 5, 2, 9, 6, 3, 0, 7, 4]
    signs = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    assert "".join(signs[label] for label in flipped[10:]) == signs[10:].swapcase()
    assert sorted(flipped) == list(range(62)), "no class is lost"
    assert all(label != truth for truth, label in enumerate(flipped))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "pairs", "pairs": ((0, 10),)}, "no class 10"),
        ({"mode": "pairs", "pairs": ((-1, 0),)}, "no class -1"),
        ({"mode": "all_to_one", "target": 10}, "no class 10"),
        ({"mode": "rfa_emnist"}, "62"),
    ],
)
def test_a_class_that_is_not_there_is_named(options: dict[str, object], said: str) -> None:
    ATTACKS["label_flip"](**options)  # how many classes there are shows only with the data
    with pytest.raises(DataError, match=said):
        told(torch.arange(10), 10, **options)


@pytest.mark.parametrize(
    "options", [{"mode": "pairs"}, {"pairs": ((0, 1),)}, {"mode": "pairs", "pairs": ((0, 1), (0, 2))}, {"target": -1}]
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"pairs|source|target"):
        ATTACKS["label_flip"](**options)


def test_options_that_do_not_fit_the_data_are_told_as_such() -> None:
    labels, everybody, stream = torch.arange(10), torch.tensor([True]), Stream(0, "poison", range(1))
    with pytest.raises(DataError, match="does not fit this data: there is no class 77"):
        ATTACKS["label_flip"](mode="all_to_one", target=77).corrupt(
            labels[:, None], labels, torch.tensor([10]), everybody, 10, stream
        )
