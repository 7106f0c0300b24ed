"""Read the two files that every sweep has: its grid and its table."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

from surefed.core import RecordError

SWEEP, TABLE = "sweep.json", "cells.csv"


AGAIN = "the sweep's command writes it again"


def read_grid(path: Path, fix: str = AGAIN) -> dict[str, Any]:
    """The sweep.json of a folder; fix: what to do where it is damaged."""
    try:
        grid = json.loads((path / SWEEP).read_text())
    except (OSError, ValueError) as error:
        raise RecordError(f"{path / SWEEP} is damaged ({error}); {fix}") from error
    if not isinstance(grid, dict) or grid.get("format") != 1 or not isinstance(grid.get("cells"), list):
        raise RecordError(f"{path / SWEEP} is not a sweep that this version reads; update SureFED")
    return grid


def read_rows(path: Path, fix: str = AGAIN) -> dict[str, dict[str, str]]:
    """The rows of a table by cell; none where there is no table yet. fix: what to do where it is damaged."""
    if not path.exists():
        return {}
    try:
        with path.open(newline="") as file:
            rows = [{key: value or "" for key, value in row.items() if key} for row in csv.DictReader(file)]
        return {row["cell"]: row | {"error": _without_folders(row.get("error", ""))} for row in rows}
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise RecordError(f"{path} is damaged ({error!r}); {fix}") from error


def _without_folders(text: str) -> str:
    """An error without the places of the machine it happened on, which help nobody else."""
    return re.sub(r"(?<![\w.])/(?:[^\s/:'\"]+/)+", "", text)
