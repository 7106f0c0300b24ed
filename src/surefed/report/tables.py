"""The tables of figures: accuracy beside the paper's, the Trojan, whom people trust, and the studies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from surefed.report import paper_figures
from surefed.report.groups import Group, Mean, mean
from surefed.report.names import ATTACKS, BOUNDS, CLEAN, DATASETS, FORMS, METHODS, STUDIES, TROJAN, called, ordered
from surefed.report.paper_figures import Printed
from surefed.report.results import Cell
from surefed.report.score import MEASURES
from surefed.report.table import Entry, Table

CLOSE = 0.01
"""A point: figures no further apart are called the same."""
MINUS = "\u2212"


def points(share: float, digits: int = 1) -> str:
    """A share in %, without the sign."""
    return f"{100 * share:.{digits}f}".replace("-", MINUS)


def signed(share: float) -> str:
    """A difference in points."""
    text = f"{100 * share:+.1f}".replace("-", MINUS)
    return "0.0" if text[1:] == "0.0" else text


def spread(figure: Mean) -> tuple[str, ...]:
    """The lowest and highest seed, where there are several."""
    return () if figure.seeds == 1 else (f"{points(figure.low)} to {points(figure.high)}",)


def seeds(figures: Iterable[Mean]) -> str:
    """How many seeds there are behind each of some figures."""
    counts = [figure.seeds for figure in figures] or [0]
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def caption(group: Group) -> str:
    """What a group is, for people."""
    study = called(group.study, STUDIES) if group.study else ""
    return " ".join(filter(None, ["quick:" if group.sweep.quick else "", study and f"{study},", _data(group)]))


def measure(group: Group) -> str:
    """What a group is measured by, in words."""
    return " or ".join(sorted({MEASURES[cell.measure] for cell in group.cells}))


def where(group: Group, method: str, attack: str, setting: str | None = None) -> list[Cell]:
    """The cells of a method under an attack, at one setting or all."""
    return [
        cell
        for cell in group.cells
        if (cell.method, cell.attack) == (method, attack) and (setting is None or group.setting(cell) == setting)
    ]


def methods(group: Group) -> list[str]:
    """The methods of a group, SureFED first and bounds last of those that are known."""
    return ordered(group.values("method"), METHODS)


def ours(group: Group) -> str:
    """SureFED as it is, or, where it was not run, the form of it that was."""
    there = group.values("method")
    return next((form for form in FORMS if form in there), FORMS[0])


def attacks(group: Group) -> list[str]:
    """The attacks of a group, the paper's first."""
    return ordered(group.values("attack"), ATTACKS)


def compared(
    figure: Mean | None, printed: Printed | None, *, quick: bool, heat: bool = True, beside: Sequence[str] = ()
) -> Entry:
    """A place of a table: ours, its spread, what else is to be said, the paper's and the difference; rehearsals have
    no difference.
    """
    if figure is None:
        return Entry("-", (f"paper {points(printed.share, 0)}",) if printed else (), "dim")
    notes = [*spread(figure), *beside]
    if printed is not None:
        difference = figure.mean - printed.share
        notes.append(f"paper {points(printed.share, 0)}" + ("" if quick else f", {signed(difference)}"))
    return Entry(points(figure.mean), tuple(notes), heat=figure.mean if heat else None)


def accuracy(group: Group) -> Table:
    """Methods under attacks, and each method's worst case."""
    columns, shared = attacks(group), group.shared()
    rows, tidy = [], []
    for method in methods(group):
        row: list[Entry] = []
        figures: dict[str, Mean] = {}
        alike: dict[str, Mean] = {}
        for attack in columns:
            cells = where(group, method, attack)
            figure, printed = mean(cells), paper_figures.accuracy(group.dataset, method, attack)
            same = mean(cell for cell in cells if cell.count("seed") in shared)
            row.append(compared(figure, printed, quick=group.sweep.quick, beside=_alike(figure, same, shared)))
            if figure is not None:
                figures[attack] = figure
                tidy.append(_tidy(group, method, attack, figure, printed))
            if same is not None:
                alike[attack] = same
        rows.append(
            [Entry(called(method, METHODS)), _worst(group, method, figures, alike, shared),
             Entry(seeds(figures.values())), *row]
        )  # fmt: skip
    several = any(note.startswith("seed") for row in rows for entry in row for note in entry.notes)
    return Table(
        f"{group.name}-accuracy",
        f"{caption(group)}: final {measure(group)} of honest clients in %",
        ["Method", "Worst case", "Seeds", *(called(attack, ATTACKS) for attack in columns)],
        rows,
        "Mean over seeds, below it the lowest and the highest seed where there are several, then what the paper prints "
        "and the difference in points. Worst case: the lowest of the row, Trojan and nobody lying aside."
        + several
        * f" Rows of fewer seeds are to be compared with what stands after “{seeds_named(shared)}”.",
        tidy,
    )


def seeds_named(shared: Iterable[int]) -> str:
    """Some seeds, for people."""
    told = sorted(shared)
    return f"seed{'s' if len(told) > 1 else ''} {', '.join(map(str, told))}"


def _alike(figure: Mean | None, same: Mean | None, shared: frozenset[int]) -> tuple[str, ...]:
    """The figure of the seeds that all methods have, where a method has more."""
    if figure is None or same is None or figure.seeds == same.seeds:
        return ()
    return (f"{seeds_named(shared)}: {points(same.mean)}",)


def _worst(
    group: Group, method: str, figures: dict[str, Mean], alike: dict[str, Mean], shared: frozenset[int]
) -> Entry:
    hostile = {attack: figure.mean for attack, figure in figures.items() if attack not in (CLEAN, TROJAN)}
    if not hostile:
        return Entry("-", tone="dim")
    attack = min(hostile, key=lambda name: hostile[name])
    notes = [called(attack, ATTACKS)]
    same = min((alike[name].mean for name in hostile if name in alike), default=hostile[attack])
    if any(_alike(figures[name], alike.get(name), shared) for name in hostile) and points(same) != points(
        hostile[attack]
    ):
        notes.append(f"{seeds_named(shared)}: {points(same)}")
    printed = paper_figures.worst(group.dataset, method)
    if printed is not None:
        difference = "" if group.sweep.quick else f", {signed(hostile[attack] - printed.share)}"
        notes.append(f"paper {points(printed.share, 0)}{difference}")
    return Entry(points(hostile[attack]), tuple(notes), heat=hostile[attack])


def trojan(group: Group) -> Table | None:
    """Main and backdoor accuracy under attacks that leave a trigger."""
    rows, tidy = [], []
    for attack in attacks(group):
        for method in methods(group):
            cells = where(group, method, attack)
            main, back = mean(cells), mean(cells, "backdoor")
            if main is None or back is None:
                continue
            floor, most = mean(cells, "backdoor_floor"), mean(cells, "backdoor_worst")
            known = attack == TROJAN
            told = paper_figures.accuracy(group.dataset, method, attack) if known else None
            fooled = paper_figures.backdoor(group.dataset, method) if known else None
            quick = group.sweep.quick
            rows.append([
                Entry(called(method, METHODS), () if known else (called(attack, ATTACKS),)),
                compared(main, told, quick=quick, heat=False),
                compared(back, fooled, quick=quick, heat=False),
                Entry(points(most.mean) if most else "-"),
                Entry(points(floor.mean) if floor else "-"),
            ])  # fmt: skip
            tidy.append(_tidy(group, method, attack, back, fooled) | {"figure": "backdoor"})
    if not rows:
        return None
    return Table(
        f"{group.name}-trojan",
        f"{caption(group)}: main task and backdoor accuracy under Trojan, in %",
        ["Method", "Main task", "Backdoor", "Most fooled client", "Local beliefs"],
        rows,
        "Backdoor: the share of stamped images that honest clients take for the target; lower is better. Local "
        "beliefs, which nobody attacks, take this share of them for the target by mere mistake.",
        tidy,
    )


def detection(group: Group) -> Table | None:
    """Whom honest clients trust at the end, for the rules that judge."""
    rows = []
    for method in (one for one in methods(group) if one not in BOUNDS):
        for attack in attacks(group):
            cells = where(group, method, attack)
            found = [mean(cells, name) for name in ("trusts_honest", "trusts_malicious", "precision", "recall")]
            if found[1] is not None and attack != CLEAN and any(map(_judges, cells)):
                shares = [Entry(points(one.mean, 0) if one else "-", tone="" if one else "dim") for one in found]
                rows.append([Entry(called(method, METHODS)), Entry(called(attack, ATTACKS)), *shares])
    if not rows:
        return None
    return Table(
        f"{group.name}-detection",
        f"{caption(group)}: whom honest clients trust in the last round, in %",
        ["Method", "Attack", "Trusts honest", "Trusts malicious", "Precision", "Recall"],
        rows,
        "Shares of an honest client's neighbours. Precision: of the distrusted, how many are malicious. Recall: of the "
        "malicious, how many are distrusted. Cells in which nobody was ever left out, and bounds, are not listed. Who "
        "sends what is no number is left out by every rule, so one without a defence may leave out liars, and those "
        "whom they have ruined.",
        words=frozenset({0, 1}),
    )


def _judges(cell: Cell) -> bool:
    """Whether somebody was ever left out, as far as the record tells."""
    return any(share < 1 for name in ("trusts_honest", "trusts_malicious") for _, share in cell.curve.points(name))


def study(group: Group) -> Table:
    """Settings of a study, a column for each method and attack."""
    columns = [(method, attack) for method in methods(group) for attack in attacks(group)]
    columns = [pair for pair in columns if where(group, *pair)]
    rows, tidy, figures = [], [], []
    for setting in group.settings():
        row = [Entry(setting)]
        for method, attack in columns:
            cells = where(group, method, attack, setting)
            figure = mean(cells)
            first = setting.split(",")[0]
            printed = paper_figures.ablation(group.study, group.dataset, method, first)
            entry = compared(figure, printed, quick=group.sweep.quick)
            if fooled := mean(cells, "backdoor"):
                entry = replace(entry, notes=(*entry.notes, f"backdoor {points(fooled.mean)}"))
            row.append(entry)
            if figure is not None:
                figures.append(figure)
                tidy.append(_tidy(group, method, attack, figure, printed) | {"setting": setting})
        rows.append(row)
    return Table(
        f"{group.name}-study",
        f"{caption(group)}: final {measure(group)} of honest clients in %",
        [group.axis or "setting", *_heads(columns)],
        rows,
        f"Seeds per figure: {seeds(figures)}.",
        tidy,
    )


def _heads(columns: Sequence[tuple[str, str]]) -> list[str]:
    """Methods, attacks, or both, whichever differ."""
    several = len({attack for _, attack in columns}) > 1
    return [called(m, METHODS) + (f", {called(a, ATTACKS)}" if several else "") for m, a in columns]


def tables(group: Group) -> list[Table]:
    """All tables of a group."""
    if group.axes:
        return [study(group)]
    return [table for table in (accuracy(group), trojan(group), detection(group)) if table is not None]


def _data(group: Group) -> str:
    return called(group.dataset, DATASETS)


def _tidy(group: Group, method: str, attack: str, figure: Mean, printed: Printed | None) -> dict[str, Any]:
    return {
        "sweep": group.sweep.name,
        "quick": str(group.sweep.quick).lower(),
        "study": group.study,
        "dataset": group.dataset,
        "method": method,
        "attack": attack,
        "figure": "score",
        "seeds": figure.seeds,
        "mean": round(figure.mean, 6),
        "lowest": figure.low,
        "highest": figure.high,
        "paper": None if printed is None else printed.share,
        "difference": None if printed is None or group.sweep.quick else round(figure.mean - printed.share, 6),
        "source": None if printed is None else printed.source,
    }


def rounds(cells: Iterable[Cell]) -> str:
    """The horizons of some cells."""
    return ", ".join(str(count) for count in sorted({cell.count("rounds") for cell in cells}))
