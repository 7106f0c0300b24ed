"""How the figures look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor

from surefed.theory.fit import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, GREY = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#555555",
)
"""Okabe and Ito's palette: told apart by people with any kind of colour vision."""


Place = Literal["best", "upper left", "lower left", "center right", "below"]


def canvas(rows: int, columns: int, *, width: float = 4.2, height: float = 3.5) -> tuple[Figure, list[Axes]]:
    """An empty figure and its panels, row by row."""
    from matplotlib.figure import Figure  # here, because it takes a second to import

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained", dpi=90)
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for panel in panels:
        panel.grid(alpha=0.25)
        panel.tick_params(labelsize=8)
    return figure, panels


def name(axes: Axes, title: str, x: str, y: str) -> None:
    """Say what a panel shows."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)


def band(axes: Axes, times: Tensor, errors: Tensor, colour: str, label: str, style: str = "-") -> None:
    """The mean over repetitions on logarithmic axes, and its 95 % interval. errors: [time, repetition]"""
    mean = errors.mean(1)
    half = 1.96 * errors.std(1) / np.sqrt(errors.shape[1])
    axes.loglog(times, mean, color=colour, linewidth=1.8, linestyle=style, label=label)
    low = torch.maximum(mean - half, mean / 10)
    axes.fill_between(times, low, mean + half, color=colour, alpha=0.2, linewidth=0)


def prediction(axes: Axes, times: Tensor, values: Tensor, label: str, colour: str = "black") -> None:
    """What the matrices say, as dots on top of the measured curve."""
    axes.plot(times, values, linestyle="none", marker="o", markersize=3.2, color=colour, label=label, zorder=5)


def level(axes: Axes, value: float, label: str, colour: str = "black") -> None:
    """A predicted plateau."""
    axes.axhline(value, color=colour, linestyle=":", linewidth=1.4, label=label)


def bars(axes: Axes, places: list[float], values: list[Estimate], colour: str, label: str) -> None:
    """Measured numbers with their intervals."""
    middle = np.array([at.value for at in values])
    ends = np.abs(np.array([[at.low for at in values], [at.high for at in values]]) - middle)
    axes.errorbar(places, middle, yerr=ends, fmt="o", color=colour, markersize=4, capsize=2.5, label=label, zorder=4)


def legend(axes: Axes, place: Place = "best") -> None:
    """Names of the curves, small; `below` puts them under the panel."""
    if place == "below":
        axes.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, frameon=False)
    else:
        axes.legend(fontsize=7.5, loc=place)


def mark(axes: Axes, place: float, text: str) -> None:
    """A dotted line at a place on the horizontal axis, with a word beside it."""
    axes.axvline(place, color="black", linestyle=":", linewidth=1)
    axes.annotate(
        text,
        (place, 0.04),
        xycoords=axes.get_xaxis_transform(),
        xytext=(5, 0),
        textcoords="offset points",
        fontsize=7.5,
        rotation=90,
    )


def some(times: Tensor, count: int = 9, since: int = 12) -> Tensor:
    """A few of the times, for predictions that cost something. [time]"""
    late = times[times >= since]
    return late[torch.linspace(0, len(late) - 1, count).round().long().unique()]
