"""The paper's network for MNIST and FEMNIST."""

from __future__ import annotations

from torch import nn

from surefed.core import DataError


def cnn(shape: tuple[int, ...], classes: int, *, hidden: int = 120) -> nn.Module:
    """Two convolutions of 5 x 5, each followed by pooling, then two linear layers (the paper's CNN).

    97 982 weights for images of 28 x 28 in one channel and 10 classes; 104 274 for 62 classes.
    """
    if len(shape) != 3 or shape[1] < 4 or shape[2] < 4:
        raise DataError(f"the cnn needs images of shape (channels, height, width), at least 4 x 4; not {shape}")
    channels, height, width = shape
    return nn.Sequential(
        nn.Conv2d(channels, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * (height // 4) * (width // 4), hidden),
        nn.ReLU(),
        nn.Linear(hidden, classes),
    )
