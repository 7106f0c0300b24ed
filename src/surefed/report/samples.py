"""A sheet of samples: what a dataset looks like, each picture under its label."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from surefed.core import ConfigError, DataError
from surefed.records import replace_file

KINDS = ("png", "svg", "pdf")


class Pictures(Protocol):
    """Labelled pictures. inputs: uint8, or float in 0 .. 1 [sample, 1 or 3, row, column]; labels: [sample]"""

    @property
    def inputs(self) -> np.ndarray[Any, Any]:
        """The pictures."""

    @property
    def labels(self) -> np.ndarray[Any, Any]:
        """What they show."""

    @property
    def classes(self) -> int:
        """How many kinds there are."""


def sample_sheet(dataset: Pictures, path: Path | str, *, names: tuple[str, ...] = (), rows: int = 3) -> Path:
    """Draw the first `rows` pictures of each class below its number, or its name, as they are stored.

    names: what the classes are called, one for each.
    """
    from matplotlib.figure import Figure  # here, because it takes a second to import

    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    if kind not in KINDS:
        raise ConfigError(f"figures are .png, .svg or .pdf files, and {path.name!r} is not")
    if dataset.inputs.ndim != 4 or dataset.inputs.shape[1] not in (1, 3):
        raise DataError(f"samples of shape {dataset.inputs.shape[1:]} are no pictures [1 or 3, row, column]")
    if names and len(names) != dataset.classes:
        raise ConfigError(f"{dataset.classes} classes need as many names, not {len(names)}")
    across = min(dataset.classes, 16)
    bands = -(-dataset.classes // across)
    figure = Figure(figsize=(0.62 * across, 0.72 * bands * rows), layout="constrained")
    axes = figure.subplots(bands * rows, across, squeeze=False)
    for place in axes.flat:
        place.set_axis_off()
    for label in range(dataset.classes):
        band, column = divmod(label, across)
        for row, sample in enumerate(np.flatnonzero(dataset.labels == label)[:rows]):
            place = axes[band * rows + row, column]
            place.imshow(_picture(dataset.inputs[sample]), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
            if row == 0:
                place.set_title(names[label] if names else str(label), fontsize=8, pad=2)
    replace_file(path, lambda fresh: figure.savefig(fresh, dpi=72, format=kind))
    return path


def _picture(given: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """As matplotlib wants it: 0 .. 1, [row, column] or [row, column, channel]"""
    pixels = given / 255 if given.dtype == np.uint8 else given
    return pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0)
