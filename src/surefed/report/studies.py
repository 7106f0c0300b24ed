"""The figures of studies: what a setting does to accuracy, and to the backdoor where there is one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surefed.report.drawing import OTHERS, Picture, folded, sheet, style, words, write
from surefed.report.figures import limits
from surefed.report.groups import Group, at, mean
from surefed.report.names import ATTACKS, METHODS, called
from surefed.report.tables import attacks, caption, measure, methods, where

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLOSE_TOGETHER = 15
"""Points between the lowest and the highest figure of a study that would be lost on an axis from 0 to 100."""
CROWDED = 0.05
"""Numbers nearer to each other than this share of their axis could not be read; they stand at even steps."""
MARKS = "os^DvPX"
"""What attacks are told apart by where no line joins the figures."""


def study(group: Group, folder: Path) -> Picture:
    """The figures at each setting of a study: lines where settings are numbers, else a row of dots for each."""
    from matplotlib.figure import Figure

    pairs = [(m, a) for m in methods(group) for a in attacks(group) if where(group, m, a)]
    settings = group.settings()
    values = [at(next(cell for cell in group.cells if group.setting(cell) == one), group.axes[0]) for one in settings]
    numbers = len(group.axes) == 1 and all(
        isinstance(one, (int, float)) and not isinstance(one, bool) for one in values
    )
    fooled = any(cell.figure("backdoor") is not None for cell in group.cells)
    series = ["score", "backdoor"] if fooled else ["score"]
    tall = max(2.9, 0.6 + 0.17 * len(pairs), 0 if numbers else 0.9 + 0.3 * len(settings))
    with sheet():
        figure = Figure(figsize=(6.4 if len(series) == 1 else 9.4, tall), layout="constrained")
        panels = figure.subplots(1, len(series), squeeze=False, sharey=not numbers)[0]
        for axes, one in zip(panels, series, strict=True):
            places = _number_axis(axes, values, settings) if numbers else list(range(len(settings)))
            _plot(axes, group, pairs, places, one, sideways=not numbers)
            told = f"{measure(group) if one == 'score' else 'backdoor'} in %"
            told += ", axis cut" * _zoom(axes, sideways=not numbers)
            (axes.set_ylabel if numbers else axes.set_xlabel)(told)
            if numbers:
                axes.set_xlabel(words(group.axis))
        if not numbers:
            panels[0].set_yticks(range(len(settings)), [folded(one, 44) for one in settings], fontsize=8)
            panels[0].set_ylim(len(settings) - 0.5, -0.5)
        if len(pairs) > 1:
            panels[-1].legend(fontsize=8, reverse=True, loc="center left", bbox_to_anchor=(1, 0.5))
        about = f"{caption(group)}: final {' and '.join([measure(group), *series[1:]])} over {group.axis}"
        return write(figure, f"{group.name}-study", about, folder)


def _plot(
    axes: Axes, group: Group, pairs: Sequence[tuple[str, str]], places: Sequence[float], series: str, *, sideways: bool
) -> None:
    rules, lies = methods(group), attacks(group)
    several = len({attack for _, attack in pairs}) > 1
    for method, attack in reversed(pairs):
        found = [mean(where(group, method, attack, setting), series) for setting in group.settings()]
        points = [(place, 100 * one.mean) for place, one in zip(places, found, strict=True) if one is not None]
        colour, dashes, width = style(method, rules.index(method))
        later = lies.index(attack)
        if later:
            dashes = ("--", ":", "-.")[(later - 1) % 3]
            colour = colour if len(rules) > 1 else OTHERS[later % len(OTHERS)]
        label = called(method, METHODS) * (len(rules) > 1 or not several)
        label = ", ".join(filter(None, [label, called(attack, ATTACKS) * several]))
        xs, ys = zip(*points, strict=True) if points else ((), ())
        if sideways:
            xs, ys, dashes = ys, xs, "none"
        axes.plot(
            xs, ys, linestyle=dashes, color=colour, linewidth=width, label=words(label), markersize=5,
            marker=MARKS[later % len(MARKS)] if sideways else "o",
        )  # fmt: skip


def _number_axis(axes: Axes, values: Sequence[float], settings: Sequence[str]) -> list[float]:
    """Where numbers stand: as far apart as they are, or as their logarithms are, or else at even steps."""
    places = [float(value) for value in values]
    logarithmic = _spread(places)
    shown = [math.log(place) for place in places] if logarithmic else places
    gaps = np.diff(sorted(shown))
    if len(gaps) and gaps.min() < CROWDED * gaps.sum():
        places, logarithmic = [float(step) for step in range(len(places))], False
    if logarithmic:
        axes.set_xscale("log")
    axes.set_xticks(places, settings)
    axes.minorticks_off()
    return places


def _zoom(axes: Axes, *, sideways: bool) -> bool:
    """Show 0 to 100, or only where the figures are when they are close together; whether it was the latter."""
    lines = axes.get_lines()
    found = [float(one) for line in lines for one in np.atleast_1d(line.get_xdata() if sideways else line.get_ydata())]
    close = bool(found) and max(found) - min(found) < CLOSE_TOGETHER
    ends = (min(found) - 3, min(102.0, max(found) + 3)) if close else limits(axes)
    (axes.set_xlim if sideways else axes.set_ylim)(*ends)
    return close


def _spread(across: Iterable[Any]) -> bool:
    """Whether numbers span so much that only a logarithmic axis shows them all."""
    there = sorted(across)
    return bool(there[0] > 0 and there[-1] / there[0] >= 8)
