from __future__ import annotations

import pytest
import torch

from surefed.attacks import ATTACKS, Victim
from surefed.core import DataError, Stream

trojan = ATTACKS["trojan"]


def poisoned(
    rank: int = 0, size: int = 28, background: float = 0.0, **options: object
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sixteen empty images of class 5, after the attack."""
    images, labels = torch.full((16, 1, size, size), background), torch.full((16,), 5)
    attack = trojan(**options)
    assert attack.poison is not None
    return attack.poison(images, labels, Victim(10, rank, background), Stream(0, "poison", ["a"]))


@pytest.mark.parametrize(("rank", "row", "columns"), [(0, 0, range(4)), (1, 0, range(6, 10)), (6, 3, range(4))])
def test_local_triggers_of_dba_on_images_of_mnist(rank: int, row: int, columns: range) -> None:
    images, labels = poisoned(rank)
    stamped = labels == 2
    assert stamped.sum() == 5  # 0.3125 of 16
    expected = torch.zeros(28, 28)
    expected[row, list(columns)] = 1.0
    assert all(torch.equal(image[0], expected) for image in images[stamped])
    assert images[~stamped].sum() == 0
    assert (labels[~stamped] == 5).all()


def test_the_trigger_is_the_opposite_of_the_background() -> None:
    images, labels = poisoned(background=1.0)
    assert images[labels == 2][:, 0, 0, :4].sum() == 0
    assert images[labels == 2].sum() == 5 * (28 * 28 - 4)


@pytest.mark.parametrize(("size", "pixels"), [(32, 24), (28, 16), (8, 8)])
def test_the_global_trigger_is_all_four(size: int, pixels: int) -> None:
    trigger = trojan().trigger
    assert trigger is not None
    assert trigger.target == 2
    assert trigger.stamp(torch.zeros(3, 1, size, size), 0.0).sum().item() == 3 * pixels


def test_what_cannot_be_stamped_is_refused() -> None:
    with pytest.raises(DataError, match="needs 4 x 10 pixels; images are 8 x 8"):
        poisoned(size=8, pattern="medium")
    with pytest.raises(DataError, match=r"target 10, but classes are 0 .. 9"):
        poisoned(target=10)
    attack = trojan()
    assert attack.poison is not None
    with pytest.raises(DataError, match="stamps images"):
        attack.poison(torch.zeros(4, 64), torch.zeros(4).long(), Victim(10, 0, 0.0), Stream(0, "poison", ["a"]))
    for options in ({"share": 0.0}, {"share": 1.5}, {"target": -1}):
        with pytest.raises(ValueError, match="must"):
            trojan(**options)


def test_the_same_stream_poisons_the_same_samples() -> None:
    assert torch.equal(poisoned()[1], poisoned()[1])
