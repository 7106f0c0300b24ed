"""The handwritten digits that scikit-learn carries: 1797 images of 8 x 8, no download."""

from __future__ import annotations

import numpy as np

from surefed.data.base import Dataset


def digits() -> Dataset:
    """Scikit-learn's 1797 handwritten digits, 8 x 8 pixels in [0, 1], background 0; embedded, needs no download."""
    from sklearn.datasets import load_digits  # here, because it takes a second to import

    images, labels = load_digits(return_X_y=True)
    return Dataset((images / 16.0).astype(np.float32).reshape(-1, 1, 8, 8), labels.astype(np.int64), classes=10)
