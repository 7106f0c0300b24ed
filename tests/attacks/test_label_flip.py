from __future__ import annotations

import torch

from surefed.attacks import ATTACKS
from surefed.core import Stream


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
