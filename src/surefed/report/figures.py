"""The figures of a page: curves, heat maps and whom people trust. Those of studies are in report/studies.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surefed.report.drawing import GREY, INK, OTHERS, Picture, folded, sheet, style, words, write
from surefed.report.groups import Group, mean
from surefed.report.names import ATTACKS, CLEAN, METHODS, called
from surefed.report.results import Cell
from surefed.report.tables import attacks, caption, measure, methods, ours, seeds_named, where

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MANY = 8
"""Attacks that lines can be told apart by; more are drawn as a map."""
TRUSTED, LEFT_OUT = (0.0, 0.447, 0.698, 1.0), (0.6, 0.62, 0.65, 0.45)


Curve = list[tuple[int, float]]
"""Rounds, and a share at each."""


def averaged(cells: Iterable[Cell], series: str) -> Curve:
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
        axes.set_ylim(*limits(axes))
        axes.set_xlim(left=0)
        about = f"{caption(group)}: {what} over rounds, {title}"
        return write(figure, f"{group.name}-{series}-{attack}", about, folder, legend=axes)


def limits(axes: Axes) -> tuple[float, float]:
    """From 0 to 100, further down where R2 is below 0."""
    return (max(-100.0, min(-2.0, axes.get_ylim()[0])), 102.0)


def legend(group: Group) -> list[tuple[str, str, str]]:
    """Colour, line and name of the methods in the panels of a group."""
    return [(*style(method, place)[:2], called(method, METHODS)) for place, method in enumerate(methods(group))]


def heat(group: Group, folder: Path) -> Picture | None:
    """Methods x attacks, shaded by accuracy, of the seeds that all have; None where there is only one of either."""
    from matplotlib.figure import Figure

    rows, columns, shared = methods(group), attacks(group), group.shared()
    if len(rows) < 2 or len(columns) < 2:
        return None
    with sheet():
        wide = 0.85 if len(columns) <= MANY else 0.62
        figure = Figure(figsize=(2.2 + wide * len(columns), 0.9 + 0.34 * len(rows)), layout="constrained")
        axes = figure.subplots()
        axes.grid(visible=False)
        shares = np.full((len(rows), len(columns)), np.nan)
        for row, method in enumerate(rows):
            for column, attack in enumerate(columns):
                cells = where(group, method, attack)
                found = mean(cell for cell in cells if not shared or cell.count("seed") in shared)
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
            np.arange(len(columns)) + 0.5, [words(called(name, ATTACKS), 24) for name in columns], fontsize=8
        )
        axes.set_yticks(np.arange(len(rows)) + 0.5, [folded(called(name, METHODS)) for name in rows])
        if len(columns) > MANY:
            axes.set_xticks(axes.get_xticks(), [text.get_text() for text in axes.get_xticklabels()], rotation=40,
                            ha="right", rotation_mode="anchor", fontsize=8)  # fmt: skip
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)
        bar = figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01)
        assert bar.solids is not None
        bar.outline.set_visible(False)
        about = f"{caption(group)}: final {measure(group)} in %, methods x attacks"
        return write(figure, f"{group.name}-heat", about + (f", {seeds_named(shared)}" if shared else ""), folder)


def trust(group: Group, folder: Path) -> Picture | None:
    """Whom SureFED's honest clients trust over rounds: a line for each attack or, where they are many, a row."""
    from matplotlib.figure import Figure

    form = ours(group)
    found = [(attack, where(group, form, attack)) for attack in attacks(group) if attack != CLEAN]
    found = [(attack, cells) for attack, cells in found if averaged(cells, "trusts_malicious")]
    if not found:
        return None
    with sheet():
        figure = Figure(figsize=(8.6, 0.9 + 0.2 * len(found) if len(found) > MANY else 2.9), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for axes, series, whom in zip(
            panels, ("trusts_honest", "trusts_malicious"), ("honest", "malicious"), strict=True
        ):
            lines = [averaged(cells, series) for _, cells in found]
            (_rows if len(found) > MANY else _lines)(axes, [called(attack, ATTACKS) for attack, _ in found], lines)
            axes.set_title(f"Trust in {whom} neighbours")
            axes.set_xlabel("round")
        if len(found) > MANY:
            bar = figure.colorbar(panels[1].collections[0], ax=panels, fraction=0.03, pad=0.01, label="trusted in %")
            bar.outline.set_visible(False)
        else:
            panels[0].set_ylabel("trusted in %")
            panels[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
        about = f"{caption(group)}: whom honest clients trust, {called(form, METHODS)}"
        return write(figure, f"{group.name}-trust", about, folder)


def _lines(axes: Axes, names: Sequence[str], lines: Sequence[Curve]) -> None:
    """Shares over rounds, a line each."""
    colours = ("#0072B2", *OTHERS)
    for place, (name, line) in enumerate(zip(names, lines, strict=True)):
        if line:
            rounds, shares = zip(*line, strict=True)
            dashes, percent = ("-", "--", ":")[place % 3], [100 * share for share in shares]
            axes.plot(rounds, percent, dashes, color=colours[place % len(colours)], label=words(name), linewidth=1.8)
    axes.set_xlim(left=0)
    axes.set_ylim(-3, 103)


def _rows(axes: Axes, names: Sequence[str], lines: Sequence[Curve]) -> None:
    """Shares over rounds, a row each, shaded; the last share of each row is that of the rounds up to the end."""
    axes.grid(visible=False)
    for row, line in enumerate(lines):
        if line:
            ends = [round for round, _ in line]
            edges = [2 * ends[0] - ends[1] if len(ends) > 1 else 0, *ends]
            shades = np.array([[100 * share for _, share in line]])
            axes.pcolormesh([max(0, edges[0]), *edges[1:]], [row, row + 1], shades, cmap="viridis", vmin=0, vmax=100)
    axes.set_yticks(np.arange(len(names)) + 0.5, [words(name, 24) for name in names], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(left=0)
    axes.set_ylim(len(names), 0)


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
