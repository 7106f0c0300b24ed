from __future__ import annotations

import pytest
import torch

from surefed.core import DataError
from surefed.learn import Network
from surefed.models.conv1d import conv1d


def test_weights_counted_by_hand() -> None:
    # 3 * 16 * 5 + 16, then 16 * 32 * 5 + 32, then 32 * 4 + 4
    assert Network(conv1d((3, 40), 4)).weights == 256 + 2592 + 132


def test_a_pulse_gives_the_same_answer_wherever_it_is() -> None:
    torch.manual_seed(0)
    module, signal = conv1d((1, 64), 3), torch.zeros(2, 1, 64)
    signal[0, 0, 20:24] = signal[1, 0, 36:40] = torch.tensor([1.0, -2.0, 3.0, 1.0])
    scores = module(signal)
    assert torch.allclose(scores[0], scores[1], atol=1e-6)
    assert not torch.allclose(scores[0], module(torch.zeros(1, 1, 64))[0], atol=1e-4)


def test_unfit_shapes_and_options() -> None:
    with pytest.raises(DataError, match="at least 4 long"):
        conv1d((1, 3), 2)
    with pytest.raises(DataError, match="signals"):
        conv1d((1, 8, 8), 2)
    with pytest.raises(ValueError, match="odd"):
        conv1d((1, 8), 2, width=4)
    with pytest.raises(ValueError, match="positive"):
        conv1d((1, 8), 2, channels=())
