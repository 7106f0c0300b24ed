"""The figures of a page: curves, heat maps, whom people trust, and the studies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surefed.report.drawing import GREY, INK, OTHERS, Picture, sheet, style, words, write
from surefed.report.groups import Group, at, mean
from surefed.report.names import ATTACKS, CLEAN, METHODS, called
from surefed.report.results import Cell
from surefed.report.tables import attacks, caption, measure, methods, ours, where

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLOSE_TOGETHER = 15
"""Points between the lowest and the highest figure of a study that would be lost on an axis from 0 to 100."""
TRUSTED, LEFT_OUT = (0.0, 0.447, 0.698, 1.0), (0.6, 0.62, 0.65, 0.45)


def averaged(cells: Iterable[Cell], series: str) -> list[tuple[int, float]]:
    """A curve over seeds, at the rounds that all of them have."""
    curves = [dict(found) for cell in cells if (found := cell.curve.points(series))]
    shared = sorted(set.intersection(*map(set, curves))) if curves else []
    return [(round, sum(curve[round] for curve in curves) / len(curves)) for round in shared]


def curves(group: Group, folder: Path) -> list[Picture]:
    """A panel for every attack: accuracy over rounds, a line for each method; and the backdoor where there is one."""
    panels = [(attack, "score", called(attack, ATTACKS), measure(group)) for attack in attacks(group)]
    panels += [
        (attack, "backdoor", f"{called(attack, ATTACKS)}: the backdoor", "backdoor")
        for attack in attacks(group)
        if any(cell.curve.points("backdoor") for cell in group.cells if cell.attack == attack)
    ]
    return [_panel(group, *panel, folder) for panel in panels]


def _panel(group: Group, attack: str, series: str, title: str, what: str, folder: Path) -> Picture:
    from matplotlib.figure import Figure

    with sheet():
        figure = Figure(figsize=(4.2, 2.7), layout="constrained")
        axes = figure.subplots()
        for place, method in reversed(list(enumerate(methods(group)))):  # SureFED last, above the others
            line = averaged(where(group, method, attack), series)
            colour, dashes, width = style(method, place)
            if line:
                rounds, shares = zip(*line, strict=True)
                mark = "o" if len(line) == 1 else None
                label = words(called(method, METHODS))
                percent = [100 * share for share in shares]
                axes.plot(rounds, percent, dashes, color=colour, linewidth=width, marker=mark, label=label)
        axes.set_title(words(title))
        axes.set_xlabel("round")
        axes.set_ylabel(f"{what} in %")
        axes.set_ylim(*_limits(axes))
        axes.set_xlim(left=0)
        about = f"{caption(group)}: {what} over rounds, {title}"
        return write(figure, f"{group.name}-{series}-{attack}", about, folder, legend=axes)


def _limits(axes: Axes) -> tuple[float, float]:
    """From 0 to 100, further down where R2 is below 0."""
    return (max(-100.0, min(-2.0, axes.get_ylim()[0])), 102.0)


def legend(group: Group) -> list[tuple[str, str, str]]:
    """Colour, line and name of the methods in the panels of a group."""
    return [(*style(method, place)[:2], called(method, METHODS)) for place, method in enumerate(methods(group))]


def heat(group: Group, folder: Path) -> Picture | None:
    """Methods x attacks, shaded by accuracy; None where there is only one of either."""
    from matplotlib.figure import Figure

    rows, columns = methods(group), attacks(group)
    if len(rows) < 2 or len(columns) < 2:
        return None
    with sheet():
        figure = Figure(figsize=(2.2 + 0.85 * len(columns), 0.9 + 0.34 * len(rows)), layout="constrained")
        axes = figure.subplots()
        axes.grid(visible=False)
        shares = np.full((len(rows), len(columns)), np.nan)
        for row, method in enumerate(rows):
            for column, attack in enumerate(columns):
                found = mean(where(group, method, attack))
                if found is not None:
                    shares[row, column] = 100 * found.mean
        masked = np.ma.masked_invalid(shares)
        image = axes.pcolormesh(masked, cmap="viridis", vmin=0, vmax=100, edgecolors="none", linewidth=0)
        for (row, column), share in np.ndenumerate(shares):
            known = not np.isnan(share)
            colour = INK if not known else "#ffffff" if share < 60 else "#111111"
            text = f"{share:.1f}" if known else "-"
            axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=colour, fontsize=8.5)
        axes.invert_yaxis()
        axes.set_xticks(
            np.arange(len(columns)) + 0.5, [words(called(name, ATTACKS), 18) for name in columns], fontsize=8
        )
        axes.set_yticks(np.arange(len(rows)) + 0.5, [words(called(name, METHODS), 28) for name in rows])
        if len(columns) > 8:
            axes.tick_params(axis="x", rotation=35)
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)
        bar = figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01)
        assert bar.solids is not None
        bar.outline.set_visible(False)
        return write(
            figure, f"{group.name}-heat", f"{caption(group)}: final {measure(group)} in %, methods x attacks", folder
        )


def trust(group: Group, folder: Path) -> Picture | None:
    """Whom SureFED's honest clients trust over rounds: malicious neighbours full, honest ones dashed."""
    from matplotlib.figure import Figure

    form = ours(group)
    found = [(attack, where(group, form, attack)) for attack in attacks(group) if attack != CLEAN]
    found = [(attack, cells) for attack, cells in found if averaged(cells, "trusts_malicious")]
    if not found:
        return None
    with sheet():
        figure = Figure(figsize=(8.6, _tall(len(found))), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        colours = ("#0072B2", *OTHERS)
        for axes, series, title in zip(
            panels, ("trusts_honest", "trusts_malicious"), ("honest neighbours", "malicious neighbours"), strict=True
        ):
            for place, (attack, cells) in enumerate(found):
                line = averaged(cells, series)
                if line:
                    rounds, shares = zip(*line, strict=True)
                    label, colour = words(called(attack, ATTACKS)), colours[place % len(colours)]
                    dashes = ("-", "--", ":")[place % 3]
                    axes.plot(
                        rounds, [100 * share for share in shares], dashes, color=colour, label=label, linewidth=1.8
                    )
            axes.set_title(f"Trust in {title}")
            axes.set_xlabel("round")
            axes.set_xlim(left=0)
            axes.set_ylim(-3, 103)
        panels[0].set_ylabel("trusted in %")
        panels[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
        about = f"{caption(group)}: whom honest clients trust, {called(form, METHODS)}"
        return write(figure, f"{group.name}-trust", about, folder)


def strips(group: Group, folder: Path) -> list[Picture]:
    """Who trusts whom at a few rounds, receiver x sender, for every attack that has snapshots."""
    shown = {cell.attack: cell for cell in reversed(group.cells) if cell.snapshots and cell.method == ours(group)}
    return [_strip(group, shown[attack], folder) for attack in attacks(group) if attack in shown and attack != CLEAN]


def _strip(group: Group, cell: Cell, folder: Path) -> Picture:
    from matplotlib.figure import Figure

    name = called(cell.attack, ATTACKS)
    with sheet():
        count = len(cell.snapshots)
        figure = Figure(figsize=(0.55 + 1.35 * count, 1.6), layout="constrained")
        panels: Sequence[Any] = figure.subplots(1, count, squeeze=False)[0]
        for place, (axes, one) in enumerate(zip(panels, cell.snapshots, strict=True)):
            order = np.argsort(one.malicious, kind="stable")
            trusted, edges = one.trusted[np.ix_(order, order)], one.edges[np.ix_(order, order)]
            shades = np.zeros((*trusted.shape, 4))
            shades[edges] = LEFT_OUT
            shades[edges & trusted] = TRUSTED
            axes.grid(visible=False)
            axes.imshow(shades, interpolation="nearest")
            honest = int((~one.malicious).sum())
            for line in (axes.axhline, axes.axvline):
                line(honest - 0.5, color="#D55E00", linewidth=1)
            axes.set_title(f"round {one.round}", fontsize=8, loc="center")
            axes.set_xticks([])
            axes.set_yticks([])
            if place == 0:
                axes.set_ylabel(words(name, 24), fontsize=9)
            for side in axes.spines.values():
                side.set(visible=True, color=GREY, linewidth=0.6)
        about = f"{caption(group)}: who trusts whom, {called(cell.method, METHODS)} under {name}"
        return write(figure, f"{group.name}-who-{cell.attack}", about, folder)


def study(group: Group, folder: Path) -> Picture:
    """Accuracy over the settings of a study: lines where these are numbers, else dots."""
    from matplotlib.figure import Figure

    rules, lies = methods(group), attacks(group)
    pairs = [(m, a) for m in rules for a in lies if where(group, m, a)]
    several = len({attack for _, attack in pairs}) > 1
    settings = group.settings()
    first = {setting: next(cell for cell in group.cells if group.setting(cell) == setting) for setting in settings}
    numbers = len(group.axes) == 1 and all(_number(at(cell, group.axes[0])) for cell in first.values())
    across = [float(at(first[setting], group.axes[0])) for setting in settings] if numbers else range(len(settings))
    with sheet():
        figure = Figure(figsize=(6.4, _tall(len(pairs))), layout="constrained")
        axes = figure.subplots()
        for method, attack in reversed(pairs):
            found = [mean(where(group, method, attack, setting)) for setting in settings]
            line = [(x, 100 * one.mean) for x, one in zip(across, found, strict=True) if one is not None]
            colour, dashes, width = style(method, rules.index(method))
            if later := lies.index(attack):
                dashes = ("--", ":", "-.")[(later - 1) % 3]
                colour = colour if len(rules) > 1 else OTHERS[later % len(OTHERS)]
            label = called(method, METHODS) + (f", {called(attack, ATTACKS)}" if several else "")
            steps = dashes if numbers else "none"
            xs, ys = zip(*line, strict=True)
            axes.plot(
                xs, ys, linestyle=steps, color=colour, linewidth=width, marker="o", markersize=5, label=words(label)
            )
        if numbers and _spread(across):
            axes.set_xscale("log")
            axes.set_xticks(across, settings)
            axes.minorticks_off()
        elif numbers:
            axes.set_xticks(across, settings)
        else:
            axes.set_xticks(across, [words(setting, 40).replace(", ", ",\n") for setting in settings], fontsize=8)
            axes.set_xlim(-0.5, len(settings) - 0.5)
        axes.set_xlabel(words(group.axis))
        axes.set_ylabel(f"{measure(group)} in %" + (", axis cut" if _zoom(axes) else ""))
        if len(pairs) > 1:
            axes.legend(fontsize=8, reverse=True, loc="center left", bbox_to_anchor=(1, 0.5))
        return write(
            figure, f"{group.name}-study", f"{caption(group)}: final {measure(group)} over {group.axis}", folder
        )


def _tall(lines: int) -> float:
    """The height of a figure with so many names beside it."""
    return max(2.9, 0.6 + 0.17 * lines)


def _zoom(axes: Axes) -> bool:
    """Show 0 to 100, or only where the figures are when they are close together; whether it was the latter."""
    heights = [float(y) for line in axes.get_lines() for y in np.atleast_1d(line.get_ydata())]
    close = max(heights) - min(heights) < CLOSE_TOGETHER
    axes.set_ylim(*((min(heights) - 3, min(102.0, max(heights) + 3)) if close else _limits(axes)))
    return close


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _spread(across: Iterable[float]) -> bool:
    """Whether numbers span so much that only a logarithmic axis shows them all."""
    there = sorted(across)
    return there[0] > 0 and there[-1] / there[0] >= 8
