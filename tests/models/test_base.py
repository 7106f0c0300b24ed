from __future__ import annotations

import torch
from torch import nn

from surefed.models.base import Shortcut, Sum


def test_a_sum_adds_what_its_parts_give() -> None:
    double = nn.Linear(2, 2, bias=False)
    double.weight.data.copy_(2 * torch.eye(2))
    assert Sum(double, nn.Identity())(torch.tensor([[1.0, -3.0]])).tolist() == [[3.0, -9.0]]


def test_the_shortcut_takes_every_second_pixel_and_puts_zeros_around() -> None:
    image = torch.arange(9.0).view(1, 1, 3, 3) + 1  # rows 1 2 3, 4 5 6, 7 8 9
    out = Shortcut(4)(image)
    assert out.shape == (1, 4, 2, 2)
    assert out[0, 1].tolist() == [[1.0, 3.0], [7.0, 9.0]]  # one of the three new channels before it, two after
    assert out[0, [0, 2, 3]].abs().sum() == 0
