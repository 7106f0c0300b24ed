"""The picture of a run: how the score went, whom people trusted, who trusts whom at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surefed.core import ConfigError, RecordError
from surefed.records import Record, read, replace_file
from surefed.report.score import measured, percent, score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette: told apart by people with any kind of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
TITLES = {
    "surefed": "SureFED",
    "bayp2pfl": "BayP2PFL (no defence)",
    "local_only": "local only",
    "fedavg": "FedAvg (no defence)",
}


def plot(runs: Sequence[Record | Path | str] | Record | Path | str, path: Path | str) -> Path:
    """Draw one run or several side by side into a file; its suffix (.png, .svg, .pdf) chooses the format.

    Left: mean accuracy (or R2) of the honest clients, the shade reaching down to the worst one. Middle and right, for
    the first run that keeps snapshots of trust: the share of honest and of malicious neighbours trusted over the
    rounds, and who trusts whom at the end.
    """
    from matplotlib.figure import Figure  # here, because it takes a second to import

    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    if kind not in ("png", "svg", "pdf"):
        raise ConfigError(f"figures are .png, .svg or .pdf files, and {path.name!r} is not")
    given = [runs] if isinstance(runs, (Record, Path, str)) else list(runs)
    records = [run if isinstance(run, Record) else read(run) for run in given]
    if not records or not all(record.rounds for record in records):
        raise RecordError("there is nothing to draw: no round has been evaluated yet")
    judge = next((record for record in records if record.trust_rounds()), None)
    figure = Figure(figsize=(14, 4.4) if judge else (6.5, 4.4), layout="constrained")
    axes = figure.subplots(1, 3 if judge else 1, squeeze=False, width_ratios=(1.45, 1.1, 1) if judge else (1,))[0]
    _scores(axes[0], records)
    if judge is not None:
        _trust_over_rounds(axes[1], judge)
        _who_trusts_whom(axes[2], judge)
    replace_file(path, lambda fresh: figure.savefig(fresh, dpi=130, format=kind))
    return path


def title(record: Record) -> str:
    """What people call the rule."""
    name: str = record.experiment["rule"]["name"]
    return TITLES.get(name, name)


def _labels(records: Sequence[Record]) -> list[str]:
    """A name for each curve: the rule's, and the folder's where rules repeat."""
    names = [title(record) for record in records]
    return [
        f"{name}, {record.path.name}" if names.count(name) > 1 else name
        for name, record in zip(names, records, strict=True)
    ]


def _scores(axes: Axes, records: Sequence[Record]) -> None:
    for at, (record, label) in enumerate(zip(records, _labels(records), strict=True)):
        colour = COLOURS[at % len(COLOURS)]
        rounds = [line["round"] for line in record.rounds]
        scores = [score(line) for line in record.rounds]
        mean, worst = [100 * at.mean for at in scores], [100 * at.worst for at in scores]
        axes.plot(rounds, mean, color=colour, linewidth=2, label=f"{label}: {percent(scores[-1].mean)}")
        axes.fill_between(rounds, worst, mean, color=colour, alpha=0.15, linewidth=0)
    run = records[0].run
    bad = len(run["malicious"])
    attack = records[0].experiment["attack"]["name"].replace("_", " ")
    about = f"{bad} of {len(run['clients'])} clients malicious: {attack}" if bad else "no attack"
    axes.set_title(f"Test {measured(records)} of honest clients\n({about})", fontsize=11)
    axes.set_xlabel("round")
    axes.set_ylabel(f"{measured(records)} in %, shade down to the worst client")
    axes.set_ylim(0, 100)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.25)
    axes.legend(loc="lower right", fontsize=9)


def _trust_over_rounds(axes: Axes, record: Record) -> None:
    for group, colour, style in (("honest", COLOURS[0], "-"), ("malicious", COLOURS[1], "--")):
        seen = [
            (line["round"], 100 * line["trusted"][group])
            for line in record.rounds
            if line["trusted"][group] is not None
        ]
        if seen:
            axes.plot(*zip(*seen, strict=True), color=colour, linestyle=style, linewidth=2, label=f"{group} neighbours")
            axes.legend(fontsize=9, loc="best")
    axes.set_title(f"Whom honest clients trust\n({title(record)})", fontsize=11)
    axes.set_xlabel("round")
    axes.set_ylabel("share of neighbours trusted in %")
    axes.set_ylim(-3, 103)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.25)


def _who_trusts_whom(axes: Axes, record: Record) -> None:
    from matplotlib.colors import ListedColormap

    last = record.trust_rounds()[-1]
    snapshot = record.trust(last)
    malicious = snapshot["malicious"]
    order = np.argsort(malicious, kind="stable")
    trusted, edges = snapshot["trusted"][np.ix_(order, order)], snapshot["edges"][np.ix_(order, order)]
    honest = int((~malicious).sum())
    shades: np.ndarray[Any, Any] = np.where(~edges, 0, np.where(trusted, 2, 1))
    axes.imshow(shades, cmap=ListedColormap(["#FFFFFF", "#D9D9D9", "#0072B2"]), vmin=0, vmax=2, interpolation="nearest")
    axes.set_title(f"Who trusts whom in round {last}\n(blue: trusted, grey: left out)", fontsize=11)
    axes.set_xlabel("sender")
    axes.set_ylabel("receiver")
    ticks, names = [(honest - 1) / 2], ["honest"]
    if honest < len(order):
        axes.axhline(honest - 0.5, color=COLOURS[1], linewidth=1.5)
        axes.axvline(honest - 0.5, color=COLOURS[1], linewidth=1.5)
        ticks.append((honest + len(order) - 1) / 2)
        names.append("malicious")
    axes.set_xticks(ticks, names)
    axes.set_yticks(ticks, names, rotation=90, va="center")
    axes.tick_params(length=0)
