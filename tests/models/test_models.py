from __future__ import annotations

import pytest
import torch

from surefed.core import DataError
from surefed.learn import Network
from surefed.models import MODELS

SHAPES = {"conv1d": (2, 16)}


@pytest.mark.parametrize(("classes", "weights"), [(10, 97_982), (62, 104_274)])
def test_the_papers_cnn_has_as_many_weights_as_it_must(classes: int, weights: int) -> None:
    # 156 + 2 416 convolutional, 94 200 hidden, 121 for every class
    assert Network(MODELS["cnn"]((1, 28, 28), classes)).weights == weights == 156 + 2416 + 94_200 + 121 * classes


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("classes", [10, 1])
def test_every_model_maps_inputs_to_outputs_and_needs_no_vmap(name: str, classes: int) -> None:
    shape = SHAPES.get(name, (1, 8, 8))
    network = Network(MODELS[name](shape, classes))
    network.check(torch.zeros(3, *shape), classes)
    assert network._plan is not None


def test_widths_of_the_mlp() -> None:
    assert Network(MODELS["mlp"]((1, 8, 8), 10)).weights == 64 * 32 + 32 + 32 * 10 + 10
    assert Network(MODELS["mlp"]((5,), 2, hidden=())).weights == Network(MODELS["linear"]((5,), 2)).weights == 12
    with pytest.raises(ValueError, match="positive"):
        MODELS["mlp"]((5,), 2, hidden=(0,))


@pytest.mark.parametrize("shape", [(64,), (1, 3, 8)])
def test_the_cnn_needs_images(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="needs images"):
        MODELS["cnn"](shape, 10)
