"""The picture of a federation's data: how many samples of which class everybody has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surefed.core import ConfigError
from surefed.records import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Counts = np.ndarray[Any, np.dtype[np.int64]]
TRAIN, TEST = "#0072B2", "#E69F00"


def plot_labels(
    path: Path | str, counts: Counts, clients: Sequence[str], *, tests: Sequence[int] | None = None, title: str = ""
) -> Path:
    """Draw the training samples of every client and class into a .png, .svg or .pdf file.

    counts: int64 [client, class]. tests: each client's own test samples, where it has any. Above the map: the samples
    of each class; to its right: those of each client, test samples stacked on training samples.
    """
    from matplotlib.figure import Figure  # here, because it takes a second to import

    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    if kind not in ("png", "svg", "pdf"):
        raise ConfigError(f"figures are .png, .svg or .pdf files, and {path.name!r} is not")
    people, classes = counts.shape
    width, height = 4.5 + min(10.0, 0.35 * classes), 2.6 + min(10.0, max(2.0, 0.16 * people))
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(
        2, 2, sharex="col", sharey="row", width_ratios=(width - 3, 2), height_ratios=(1.3, height - 1.9)
    )
    axes[0, 0].bar(np.arange(classes), counts.sum(0), color=TRAIN, width=0.9)
    axes[0, 0].set_ylabel("samples")
    axes[0, 0].set_title(title, fontsize=11)
    image = _map(axes[1, 0], counts, clients)
    bars = _sizes(axes[1, 1], counts.sum(1), tests)
    axes[0, 1].set_axis_off()
    if len(bars) > 1:
        axes[0, 1].legend(handles=bars, loc="upper center", ncols=2, fontsize=8, frameon=False)
    bar = figure.colorbar(image, cax=axes[0, 1].inset_axes((0.05, 0.3, 0.9, 0.16)), orientation="horizontal")
    bar.set_label("training samples\n(white: none)", fontsize=8)
    replace_file(path, lambda fresh: figure.savefig(fresh, dpi=130, format=kind))
    return path


def _map(axes: Axes, counts: Counts, clients: Sequence[str]) -> Any:
    people, classes = counts.shape
    shown = np.ma.masked_equal(counts, 0)
    image = axes.imshow(shown, cmap="viridis_r", aspect="auto", interpolation="nearest", vmin=0)
    axes.set_xlabel("class")
    axes.set_ylabel("client")
    axes.set_xticks(range(0, classes, -(-classes // 32)))
    every = -(-people // 40)
    axes.set_yticks(range(0, people, every), list(clients)[::every], fontsize=7)
    return image


def _sizes(axes: Axes, sizes: Counts, tests: Sequence[int] | None) -> list[Any]:
    rows, thick = np.arange(len(sizes)), 0.9 if len(sizes) <= 60 else 1.0
    bars = [axes.barh(rows, sizes, color=TRAIN, height=thick, label="train")]
    if tests is not None:
        bars.append(axes.barh(rows, tests, left=sizes, color=TEST, height=thick, label="test"))
    axes.set_xlabel("samples")
    return bars
