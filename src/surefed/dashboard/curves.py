"""The figures of a run over its rounds, in as many points as a screen can show."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefed.dashboard.downsample import extremes
from surefed.dashboard.run import MEASURES, Run
from surefed.dashboard.tail import Table

POINTS = 500
"""Points a curve has at most."""
FIGURES = (
    *(f"{measure}.{part}" for measure in MEASURES for part in ("mean", "worst", "malicious")),
    "backdoor.mean",
    "backdoor.worst",
    "trusted.honest",
    "trusted.malicious",
    "trusted.nobody",
    "outside.honest",
    "outside.malicious",
    "heading.honest",
    "heading.malicious",
    "overwritten",
    "loss.mean",
    "rmse.mean",
)
"""What is drawn, in the names of docs/records.md."""


def curves(run: Run, points: int = POINTS) -> dict[str, Any]:
    """Every figure's rounds and values, no peak lost, and of how many rounds they are."""
    table = run.table()
    rounds = np.array(table.rounds, dtype=np.int64)
    return {
        "id": run.id,
        "series": {name: _thin(table, rounds, name, points) for name in FIGURES if name in table.columns},
        "last": table.last,
        "evaluated": len(rounds),
        "points": points,
        "thinned": len(rounds) > points,
    }


def _thin(table: Table, rounds: Any, name: str, points: int) -> dict[str, list[float]]:
    values = np.array(table.columns[name])
    chosen = extremes(values, points)
    return {"x": rounds[chosen].tolist(), "y": [float(f"{value:.6g}") for value in values[chosen].tolist()]}
